package report

// A sampler keeps a stream of any length in few buckets: when there are most, each two neighbours become one. A bucket is full
// when what it holds weighs as much as size, which doubles then.
type sampler[T any] struct {
	most    int
	merge   func(into *T, next T)
	weight  func(item T) float64
	buckets []T
	size    float64
	last    float64 // weight of the last bucket
}

// newSampler returns one of at most so many buckets, an even number.
func newSampler[T any](most int, weight func(item T) float64, merge func(into *T, next T)) *sampler[T] {
	return &sampler[T]{most: most, merge: merge, weight: weight, size: 1}
}

// each weighs every item alike.
func each[T any](T) float64 { return 1 }

func (s *sampler[T]) add(item T) {
	if n := len(s.buckets); n > 0 && s.last < s.size {
		s.merge(&s.buckets[n-1], item)
		s.last += s.weight(item)
		return
	}
	if len(s.buckets) == s.most {
		half := s.buckets[:0]
		for i := 0; i < s.most; i += 2 {
			b := s.buckets[i]
			s.merge(&b, s.buckets[i+1])
			half = append(half, b)
		}
		s.buckets, s.size = half, 2*s.size
	}
	s.buckets, s.last = append(s.buckets, item), s.weight(item)
}

// all are the buckets. A last one that is not half full becomes a part of the one before it.
func (s *sampler[T]) all() []T {
	if n := len(s.buckets); n > 1 && s.last < s.size/2 {
		s.merge(&s.buckets[n-2], s.buckets[n-1])
		s.buckets, s.last = s.buckets[:n-1], s.size
	}
	return s.buckets
}
