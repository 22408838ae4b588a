package engine

import (
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"yinshzero/internal/crash"
	"yinshzero/mcts"
	"yinshzero/rules"
)

const (
	// maxJSONLine bounds a query.
	maxJSONLine = 1 << 20
	// maxQueue bounds the Positions that wait.
	maxQueue = 10_000
	// jsonHash bounds each search's tree, in MiB.
	jsonHash = 256
)

// JSON answers queries, one object a line, until r or ctx ends. At the end of r the queries in hand are finished first.
// A query about another variant than p's has the model that p.Load gives for that one, which should remember it.
// It returns an error if r or w fails, if p is out of range or if its model cannot be loaded. When it returns nothing of
// it runs on, but for a goroutine that waits for r.
func JSON(ctx context.Context, r io.Reader, w io.Writer, p Params) error {
	if err := p.Validate(); err != nil {
		return err
	}
	model, err := p.Load(p.Model, p.Variant)
	if err != nil {
		return err
	}
	p = p.single()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &analyst{params: p, model: model, out: &writer{w: w, end: cancel}, running: map[*job]bool{}}
	a.changed = sync.NewCond(&a.mu)
	var workers sync.WaitGroup
	for range p.Threads {
		workers.Go(a.work)
	}
	stop := context.AfterFunc(ctx, a.abort)
	lines := readLines(ctx, r, maxJSONLine, cancel)
	for open := true; open; {
		var l line
		select {
		case <-ctx.Done():
			open = false
		case l, open = <-lines:
			if open {
				a.line(ctx, l)
			}
		}
	}
	a.close()
	workers.Wait()
	stop()
	return context.Cause(ctx)
}

// An analyst answers queries with several goroutines.
type analyst struct {
	params Params
	model  Model // for Params.Variant
	out    *writer

	mu       sync.Mutex
	changed  *sync.Cond // waiting or closed
	waiting  queue
	running  map[*job]bool
	closed   bool   // no more jobs come
	taken    uint64 // jobs so far
	clearing uint64 // how often the caches were cleared
}

// A job is one Position to be analysed.
type job struct {
	*request
	turn     int
	priority int
	number   uint64 // in the order in which they came
	ctx      context.Context
	stop     context.CancelFunc
}

// A queue holds jobs that wait, as container/heap needs it: the highest priority first, then the earliest.
type queue []*job

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority > q[j].priority
	}
	return q[i].number < q[j].number
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*job)) }
func (q *queue) Pop() any {
	old := *q
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return j
}

// add puts the Positions of a request into the queue, all or none.
func (a *analyst) add(ctx context.Context, r *request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting)+len(r.turns) > maxQueue {
		return fmt.Errorf("%d positions are waiting, and there is room for %d: wait for answers", len(a.waiting), maxQueue)
	}
	for i, turn := range r.turns {
		j := &job{request: r, turn: turn, priority: r.priorities[i], number: a.taken}
		j.ctx, j.stop = context.WithCancel(ctx)
		a.taken++
		heap.Push(&a.waiting, j)
	}
	a.changed.Broadcast()
	return nil
}

// next waits for a job and takes it. It returns nil when none will come, and with a job how often caches were cleared.
func (a *analyst) next() (*job, uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.waiting) == 0 {
		if a.closed {
			return nil, 0
		}
		a.changed.Wait()
	}
	j := heap.Pop(&a.waiting).(*job)
	a.running[j] = true
	return j, a.clearing
}

// done forgets a job, which has been answered.
func (a *analyst) done(j *job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, j)
	j.stop()
}

// close says that no more jobs come.
func (a *analyst) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.changed.Broadcast()
}

// abort drops what waits. What runs ends by its context.
func (a *analyst) abort() {
	a.mu.Lock()
	a.waiting = nil
	a.mu.Unlock()
	a.close()
}

// terminate ends the jobs that match: those that wait are answered without results, those that run with what they have.
func (a *analyst) terminate(match func(*job) bool) {
	a.mu.Lock()
	var ended, left queue
	for _, j := range a.waiting {
		if match(j) {
			ended = append(ended, j)
		} else {
			left = append(left, j)
		}
	}
	a.waiting = left
	heap.Init(&a.waiting)
	for j := range a.running {
		if match(j) {
			j.stop()
		}
	}
	a.mu.Unlock()
	for _, j := range ended {
		j.stop()
		a.send(noResults{ID: j.id, TurnNumber: j.turn, NoResults: true})
	}
}

// send writes one object.
func (a *analyst) send(v any) {
	b, err := json.Marshal(v)
	if err != nil { // a value that is not finite
		b, _ = json.Marshal(problem{Error: err.Error()})
	}
	a.out.write(append(b, '\n'))
}

// work answers jobs until there are no more. A job's answer depends on the job alone: every tree begins anew, and the
// cache changes no evaluation.
func (a *analyst) work() {
	judge, of := &judge{}, rules.Variant{}
	searcher := mcts.New(judge, a.params.Search)
	cleared := uint64(0)
	for {
		j, clearing := a.next()
		if j == nil {
			return
		}
		if v := j.variant(); judge.Evaluator == nil || clearing != cleared || !v.Same(of) {
			judge.Evaluator, cleared, of = j.model.evaluator(a.params.Infer), clearing, v
		}
		judge.barred, judge.prior = j.barred[j.turn], nil
		s := searcher
		if j.search != a.params.Search {
			s = mcts.New(judge, j.search)
		}
		err := crash.Catch(func() error {
			s.Reset()
			a.analyse(j, s)
			return nil
		})
		if err != nil { // a bug: it costs this answer, and what it left half done is not used again
			a.send(problem{ID: &j.id, TurnNumber: &j.turn, Error: err.Error()})
			judge.Evaluator, searcher = nil, mcts.New(judge, a.params.Search)
		}
		a.done(j)
	}
}

// line does what a line asks for.
func (a *analyst) line(ctx context.Context, l line) {
	if l.err != nil {
		a.send(problem{Error: l.err.Error()})
		return
	}
	q, err := parseObject(l.text)
	if err != nil {
		a.send(problem{Error: err.Error()})
		return
	}
	if _, ok := q.fields["action"]; ok {
		err = a.act(q)
	} else {
		var r *request
		if r, err = a.parse(q); err == nil {
			err = a.add(ctx, r)
		}
	}
	if err != nil {
		a.send(q.problem(err))
	}
}

// act does a special action and echoes the query with what it has found.
func (a *analyst) act(q *object) error {
	var action, id string
	var turns []int
	if _, err := q.read("action", &action); err != nil {
		return err
	}
	concerned := func(j *job) bool { return turns == nil || slices.Contains(turns, j.turn) }
	switch action {
	case "query_version":
		q.add("version", a.params.Version)
	case "query_models":
		q.add("models", []any{a.describe()})
	case "clear_cache":
		a.mu.Lock()
		a.clearing++
		a.mu.Unlock()
	case "terminate", "terminate_all":
		if _, err := q.read("turnNumbers", &turns); err != nil {
			return err
		}
		match := concerned
		if action == "terminate" {
			if ok, err := q.read("terminateId", &id); err != nil {
				return err
			} else if !ok {
				return fieldf("terminateId", "is missing: want the id of the query to end")
			}
			match = func(j *job) bool { return j.id == id && concerned(j) }
		}
		defer a.terminate(match)
	default:
		return fieldf("action", "%q: want query_version, query_models, clear_cache, terminate or terminate_all", abridge(action))
	}
	a.send(q.fields)
	return nil
}

// describe tells of the model.
func (a *analyst) describe() any {
	d := struct {
		Name    string `json:"name"`
		Arch    string `json:"arch,omitempty"`
		Kernels string `json:"kernels,omitempty"`
	}{Name: a.model.Name}
	if a.model.Network != nil {
		d.Arch, d.Kernels = a.model.Arch.String(), a.model.Kernels
	}
	return d
}
