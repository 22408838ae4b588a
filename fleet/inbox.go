package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"yinshzero/data"
)

// prefetch is how many messages wait in memory for their taker.
const prefetch = 64

// An inbox takes the messages of one stream in, one at a time.
type inbox struct {
	hub  *Hub
	iter jetstream.MessagesContext
}

func (h *Hub) inbox(ctx context.Context, stream string) (inbox, error) {
	c, err := h.js.Consumer(ctx, stream, ingest)
	if err != nil {
		return inbox{}, fmt.Errorf("take in %s: %w", stream, err)
	}
	iter, err := c.Messages(jetstream.PullMaxMessages(prefetch), jetstream.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return inbox{}, fmt.Errorf("take in %s: %w", stream, err)
	}
	h.mu.Lock()
	h.open[iter] = struct{}{}
	h.mu.Unlock()
	return inbox{h, iter}, nil
}

func (in *inbox) next(ctx context.Context) (Delivery, error) {
	msg, err := in.iter.Next(jetstream.NextContext(ctx))
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return Delivery{}, err
	}
	return newDelivery(msg, in.hub.pulse), nil
}

// close gives back what was fetched and not taken.
func (in *inbox) close() {
	in.hub.mu.Lock()
	delete(in.hub.open, in.iter)
	in.hub.mu.Unlock()
	in.iter.Drain()
	for {
		msg, err := in.iter.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) || errors.Is(err, jetstream.ErrConnectionClosed) {
			return
		}
		if err == nil {
			_ = msg.Nak()
		}
	}
}

// Games takes games in. One goroutine at a time may use it.
type Games struct{ inbox }

// Games starts taking games in. Close ends it, or the hub's Close.
func (h *Hub) Games(ctx context.Context) (*Games, error) {
	in, err := h.inbox(ctx, h.n.games())
	if err != nil {
		return nil, err
	}
	return &Games{in}, nil
}

// A Game is a record as it came from a worker: checked by nobody yet.
type Game struct {
	Delivery
	Data []byte // the record's binary form
}

// Record decodes the game. It does not replay it: that is data.Record's Validate.
func (g *Game) Record() (*data.Record, error) { return data.DecodeRecord(g.Data) }

// Next returns the next game, and waits for one until ctx is done.
func (g *Games) Next(ctx context.Context) (*Game, error) {
	d, err := g.next(ctx)
	if err != nil {
		return nil, fmt.Errorf("next game: %w", err)
	}
	return &Game{Delivery: d, Data: d.msg.Data()}, nil
}

// Close stops taking games in. Games taken before may still be acknowledged.
func (g *Games) Close() { g.close() }

// Results takes results of jobs in. One goroutine at a time may use it.
type Results struct{ inbox }

// Results starts taking results in. Close ends it, or the hub's Close.
func (h *Hub) Results(ctx context.Context) (*Results, error) {
	in, err := h.inbox(ctx, h.n.results())
	if err != nil {
		return nil, err
	}
	return &Results{in}, nil
}

// A Result is a job's result as it came from a worker: its numbers are in range, its games are checked by nobody yet.
type Result struct {
	Delivery
	JobResult
}

// Next returns the next result, and waits for one until ctx is done. Messages that are no results are refused and left
// out.
func (r *Results) Next(ctx context.Context) (*Result, error) {
	for {
		d, err := r.next(ctx)
		if err != nil {
			return nil, fmt.Errorf("next result: %w", err)
		}
		res := &Result{Delivery: d}
		err = json.Unmarshal(d.msg.Data(), &res.JobResult)
		if err == nil {
			err = res.Validate()
		}
		if err == nil {
			res.JobResult.Worker = d.Worker
			return res, nil
		}
		if err := d.Term(clip(err.Error())); err != nil {
			return nil, fmt.Errorf("next result: %w", err)
		}
	}
}

// Close stops taking results in. Results taken before may still be acknowledged.
func (r *Results) Close() { r.close() }

// A DeadLetter is a message that was delivered too often without an answer: its takers died of it.
type DeadLetter struct {
	Stream     string // games, jobs or results
	Subject    string
	Data       []byte
	Deliveries int
}

// notice returns the subject of the server's notices about messages of stream delivered too often.
func (n names) notice(stream string) string {
	return "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + stream + ".*"
}

// DeadLetters passes each dead letter to keep and, when keep returns nil, deletes it. It returns how many were kept. It
// does not wait for more.
func (h *Hub) DeadLetters(ctx context.Context, keep func(DeadLetter) error) (int, error) {
	c, err := h.js.Consumer(ctx, h.n.dead(), notices)
	if err != nil {
		return 0, fmt.Errorf("dead letters: %w", err)
	}
	kept := 0
	for {
		batch, err := c.FetchNoWait(100)
		if err != nil {
			return kept, fmt.Errorf("dead letters: %w", err)
		}
		n := 0
		for msg := range batch.Messages() {
			n++
			ok, err := h.deadLetter(ctx, msg, keep)
			if err != nil {
				return kept, fmt.Errorf("dead letters: %w", err)
			}
			if ok {
				kept++
			}
		}
		if err := batch.Error(); err != nil || n == 0 {
			return kept, err
		}
	}
}

// deadLetter deals with one notice. It returns false if the message is gone: someone answered it after all.
func (h *Hub) deadLetter(ctx context.Context, msg jetstream.Msg, keep func(DeadLetter) error) (bool, error) {
	var notice struct {
		Stream     string `json:"stream"`
		StreamSeq  uint64 `json:"stream_seq"`
		Deliveries int    `json:"deliveries"`
	}
	if err := json.Unmarshal(msg.Data(), &notice); err != nil {
		return false, msg.TermWithReason("no notice")
	}
	stream, err := h.js.Stream(ctx, notice.Stream)
	if err != nil {
		return false, err
	}
	raw, err := stream.GetMsg(ctx, notice.StreamSeq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, msg.DoubleAck(ctx)
	}
	if err != nil {
		return false, err
	}
	kind := map[string]string{h.n.games(): "games", h.n.jobs(): "jobs", h.n.results(): "results"}[notice.Stream]
	if err := keep(DeadLetter{kind, raw.Subject, raw.Data, notice.Deliveries}); err != nil {
		return false, errors.Join(err, msg.Nak())
	}
	if err := stream.DeleteMsg(ctx, notice.StreamSeq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, err
	}
	return true, msg.DoubleAck(ctx)
}
