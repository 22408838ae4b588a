package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"yinshzero/rules"
)

// randomRecord is a game of random Moves with made-up searches: one ply in four Full, the first two random openings.
// Policies look like those of a search with a few dozen simulations: most weight on few Moves.
func randomRecord(rng *rand.Rand, v rules.Variant) *Record {
	r := &Record{Variant: v, Seed: rng.Uint64(), Build: "test 1", Worker: "worker-a"}
	r.White[0], r.Black[0] = 1, 2
	pos := rules.New(v)
	var legal []rules.Move
	value := float32(0)
	for {
		if res, over := pos.Result(); over {
			r.Result, r.Final = res, pos.Hash()
			return r
		}
		legal = pos.AppendMoves(legal[:0])
		p := Ply{Move: legal[rng.IntN(len(legal))]}
		switch {
		case len(legal) == 1:
			p.Kind = Forced
		case len(r.Plies) < 2:
			p.Kind = Opening
		case rng.IntN(4) > 0:
			p.Kind = Fast
		default:
			for _, m := range legal {
				if w := uint16(rng.ExpFloat64() * rng.ExpFloat64() * 4); w > 0 {
					p.Policy = append(p.Policy, Visit{m, w})
				}
			}
			if p.Policy == nil {
				p.Policy = []Visit{{p.Move, 65535}}
			}
		}
		if p.Kind.searched() {
			value = max(-1, min(1, value+float32(rng.NormFloat64())*0.05))
			p.Value = dequantise(quantise(value))
		}
		r.Plies = append(r.Plies, p)
		pos.Play(p.Move)
	}
}

func randomRecords(seed uint64, n int, v rules.Variant) (recs []*Record) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range n {
		recs = append(recs, randomRecord(rng, v))
	}
	return recs
}

// clone copies a Record and its plies, but not their policies.
func clone(r *Record) *Record {
	c := *r
	c.Plies = append([]Ply(nil), r.Plies...)
	return &c
}

// ofKind is the index of the first ply of kind k with a policy of more than one Move, if it is Full.
func ofKind(t *testing.T, r *Record, k Kind) int {
	t.Helper()
	for i, p := range r.Plies {
		if p.Kind == k && (k != Full || len(p.Policy) > 1) {
			return i
		}
	}
	t.Fatalf("no %v ply in the game", k)
	return 0
}

func TestValidate(t *testing.T) {
	for _, v := range rules.Variants() {
		for _, r := range randomRecords(1, 20, v) {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	game := randomRecord(rand.New(rand.NewPCG(2, 0)), rules.Standard())
	full, fast, opening := ofKind(t, game, Full), ofKind(t, game, Fast), ofKind(t, game, Opening)
	tests := []struct {
		name  string
		spoil func(r *Record)
		want  string
	}{
		{"variant", func(r *Record) { r.Variant.Radius = 9 }, "radius is 9"},
		{"build", func(r *Record) { r.Build = strings.Repeat("x", MaxText+1) }, "build: 129 bytes"},
		{"worker", func(r *Record) { r.Worker = strings.Repeat("x", MaxText+1) }, "worker: 129 bytes"},
		{"no plies", func(r *Record) { r.Plies = nil }, "0 plies"},
		{"plies", func(r *Record) { r.Plies = make([]Ply, 1000) }, "1000 plies"},
		{"illegal", func(r *Record) { r.Plies[3].Move = r.Plies[2].Move }, "ply 3: illegal move"},
		{"no move", func(r *Record) { r.Plies[3].Move = 60000 }, "ply 3: illegal move"},
		{"ply after the end", func(r *Record) { r.Plies = append(r.Plies, Ply{Kind: Opening}) }, "the game is over"},
		{"cut short", func(r *Record) { r.Plies = r.Plies[:len(r.Plies)-1] }, "before the game is over"},
		{"kind", func(r *Record) { r.Plies[0].Kind = 4 }, "kind is 4"},
		{"forced", func(r *Record) { r.Plies[opening].Kind = Forced }, "forced, but"},
		{"no policy", func(r *Record) { r.Plies[full].Policy = nil }, "without a policy"},
		{"opening value", func(r *Record) { r.Plies[opening].Value = 0.5 }, "opening ply with a policy or a value"},
		{"value", func(r *Record) { r.Plies[fast].Value = 1.5 }, "value is 1.5"},
		{"value not a number", func(r *Record) { r.Plies[fast].Value = float32(math.NaN()) }, "value is NaN"},
		{"policy illegal", func(r *Record) { r.Plies[full].Policy = []Visit{{rules.Pass, 1}} }, "policy: illegal move pass"},
		{"policy order", func(r *Record) {
			p := r.Plies[full].Policy
			r.Plies[full].Policy = []Visit{p[1], p[0]}
		}, "want moves ascending"},
		{"policy twice", func(r *Record) {
			p := r.Plies[full].Policy
			r.Plies[full].Policy = []Visit{p[0], p[0]}
		}, "want moves ascending"},
		{"policy weight", func(r *Record) {
			r.Plies[full].Policy = []Visit{{r.Plies[full].Move, 0}}
		}, "leave the move out"},
		{"result", func(r *Record) { r.Result.Outcome = 3 - r.Result.Outcome&1 }, "result is"},
		{"outcome", func(r *Record) { r.Result.Outcome = 200 }, "outcome is 200"},
		{"reason", func(r *Record) { r.Result.Reason = rules.Resigned }, "result is"},
		{"hash", func(r *Record) { r.Final ^= 1 }, "hash of the last position"},
		{"start", func(r *Record) { r.Start = "e5" }, "start: position"},
		{"start of another variant", func(r *Record) {
			pos := rules.New(rules.Mini())
			r.Start = pos.String()
		}, "a position of mini in a game of standard"},
	}
	for _, test := range tests {
		r := clone(game)
		test.spoil(r)
		err := r.Validate()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if _, err := r.AppendBinary(nil); err == nil {
			t.Errorf("%s: was encoded", test.name)
		}
		for _, err := range r.Samples() {
			if err == nil {
				t.Errorf("%s: gave a sample", test.name)
			}
		}
	}
}

// TestResigned checks that a game may end by resignation before it is over, and only then.
func TestResigned(t *testing.T) {
	r := randomRecord(rand.New(rand.NewPCG(3, 0)), rules.Standard())
	r.Plies = r.Plies[:20]
	pos := rules.New(r.Variant)
	for _, p := range r.Plies {
		pos.Play(p.Move)
	}
	r.Final = pos.Hash()
	for _, test := range []struct {
		in   rules.Result
		want bool
	}{
		{rules.Result{Outcome: rules.WhiteWins, Reason: rules.Resigned}, true},
		{rules.Result{Outcome: rules.BlackWins, Reason: rules.Resigned}, true},
		{rules.Result{Outcome: rules.Draw, Reason: rules.Resigned}, false},
		{rules.Result{Outcome: rules.WhiteWins, Reason: rules.RingsTaken}, false},
		{rules.Result{}, false},
	} {
		r.Result = test.in
		if err := r.Validate(); (err == nil) != test.want {
			t.Errorf("%v: got %v, want valid %v", test.in, err, test.want)
		}
	}
}

// TestStart checks a game that begins in the middle: its end must be that of the whole game.
func TestStart(t *testing.T) {
	r := randomRecord(rand.New(rand.NewPCG(4, 0)), rules.Standard())
	const skip = 30
	pos := rules.New(r.Variant)
	for _, p := range r.Plies[:skip] {
		pos.Play(p.Move)
	}
	r.Start, r.Plies = pos.String(), r.Plies[skip:]
	b, err := r.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRecord(b)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Fatalf("got %+v, %v; want %+v", got, err, r)
	}
	for s, err := range got.Samples() {
		if err != nil || s.Pos != pos {
			t.Fatalf("got %v, %v; want %v", s.Pos.String(), err, pos.String())
		}
		break
	}
}

// TestHash checks that everything but Build and Worker decides the Hash.
func TestHash(t *testing.T) {
	game := randomRecord(rand.New(rand.NewPCG(5, 0)), rules.Standard())
	full := ofKind(t, game, Full)
	seen := map[[32]byte]string{game.Hash(): "the game itself"}
	for name, change := range map[string]func(r *Record){
		"variant": func(r *Record) { r.Variant.RingsToWin-- },
		"white":   func(r *Record) { r.White[31]++ },
		"black":   func(r *Record) { r.Black[31]++ },
		"seed":    func(r *Record) { r.Seed++ },
		"final":   func(r *Record) { r.Final++ },
		"outcome": func(r *Record) { r.Result.Outcome++ },
		"reason":  func(r *Record) { r.Result.Reason++ },
		"start":   func(r *Record) { r.Start = "x" },
		"plies":   func(r *Record) { r.Plies = r.Plies[1:] },
		"move":    func(r *Record) { r.Plies[7].Move++ },
		"kind":    func(r *Record) { r.Plies[7].Kind++ },
		"value":   func(r *Record) { r.Plies[full].Value -= 2. / valueSteps },
		"policy":  func(r *Record) { r.Plies[full].Policy = r.Plies[full].Policy[1:] },
		"weight": func(r *Record) {
			p := slices.Clone(r.Plies[full].Policy)
			p[0].Weight++
			r.Plies[full].Policy = p
		},
	} {
		r := clone(game)
		change(r)
		if other, ok := seen[r.Hash()]; ok {
			t.Errorf("%s changed: same hash as %s", name, other)
		}
		seen[r.Hash()] = name
	}
	r := clone(game)
	r.Build, r.Worker, r.Variant.Name = "another", "another", "another"
	if r.Hash() != game.Hash() {
		t.Error("build, worker or the variant's name changed the hash")
	}
}

// TestSamples compares Samples with a replay.
func TestSamples(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range rules.Variants() {
		for _, r := range randomRecords(6, 10, v) {
			all := []rules.Position{rules.New(v)}
			for i, p := range r.Plies {
				next := all[i]
				next.Play(p.Move)
				all = append(all, next)
			}
			i := 0
			for s, err := range r.Samples() {
				if err != nil {
					t.Fatal(err)
				}
				pos, p := all[i], r.Plies[i]
				want := Sample{Pos: pos, Kind: p.Kind, Value: p.Value, Outcome: r.Result.Outcome, Reason: r.Result.Reason,
					Next: pos, Last: all[len(r.Plies)], Ply: int32(i), Plies: int32(len(r.Plies))}
				if p.Kind == Full {
					want.Policy = p.Policy
				}
				for j := i + 1; j < len(r.Plies); j++ {
					if all[j].ToMove() != pos.ToMove() {
						if want.Next = all[j]; r.Plies[j].Kind == Full {
							want.Reply = r.Plies[j].Policy
						}
						seen[fmt.Sprintf("%d plies on, searched %v", min(j-i, 3), r.Plies[j].Kind == Full)] = true
						break
					}
				}
				seen["none"] = seen["none"] || want.Next == pos
				if !reflect.DeepEqual(s, want) {
					t.Fatalf("ply %d: got %+v, want %+v", i, s, want)
				}
				i++
			}
			if i != len(r.Plies) {
				t.Fatalf("%d samples: want %d", i, len(r.Plies))
			}
		}
	}
	if len(seen) != 7 {
		t.Errorf("replies seen: %v", seen)
	}
}

func TestModelID(t *testing.T) {
	id := ModelID{1, 2, 31: 255}
	got, err := ParseModelID(id.String())
	if err != nil || got != id {
		t.Errorf("got %v, %v; want %v", got, err, id)
	}
	for _, in := range []string{"", "ab", strings.Repeat("g", 64), strings.Repeat("a", 66)} {
		if id, err := ParseModelID(in); err == nil || id != (ModelID{}) {
			t.Errorf("%q: got %v, want an error", in, id)
		}
	}
}

func TestQuantise(t *testing.T) {
	for q := -valueSteps; q <= valueSteps; q++ {
		v := dequantise(int16(q))
		if got := quantise(v); got != int16(q) || v < -1 || v > 1 {
			t.Fatalf("%d: got %d by way of %v", q, got, v)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	r := randomRecord(rand.New(rand.NewPCG(1, 0)), rules.Standard())
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Validate(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(r.Plies)), "plies")
}
