package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A Delivery is a message in the hands of its taker. Until one of its methods is called it is kept alive by heartbeats;
// after that it is no longer the taker's. If the process dies it is delivered again, to this taker or another.
type Delivery struct {
	msg   jetstream.Msg
	pulse *pulse

	Worker     string // who sent it
	Deliveries int    // how many times it was delivered, this one included
}

func newDelivery(msg jetstream.Msg, p *pulse) Delivery {
	d := Delivery{msg: msg, pulse: p, Worker: workerOf(msg.Subject()), Deliveries: 1}
	if meta, err := msg.Metadata(); err == nil {
		d.Deliveries = int(meta.NumDelivered)
	}
	p.add(msg)
	return d
}

// ackTimeout bounds the wait for the server's word on an acknowledgement.
const ackTimeout = 10 * time.Second

// Ack says that the message is safely kept, and returns when the server has noted it. After an error the message may be
// delivered again.
func (d *Delivery) Ack(ctx context.Context) error {
	d.pulse.remove(d.msg)
	select {
	case <-d.pulse.failed:
		return errors.New("acknowledge message: the hub's store has failed")
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	if err := d.msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("acknowledge message: %w", err)
	}
	return nil
}

// Nak gives the message back, to be delivered again at once.
func (d *Delivery) Nak() error {
	d.pulse.remove(d.msg)
	if err := d.msg.Nak(); err != nil {
		return fmt.Errorf("give message back: %w", err)
	}
	return nil
}

// nakAfter gives the message back, to be delivered again after a while.
func (d *Delivery) nakAfter(delay time.Duration) error {
	d.pulse.remove(d.msg)
	if err := d.msg.NakWithDelay(delay); err != nil {
		return fmt.Errorf("give message back: %w", err)
	}
	return nil
}

// Term says that the message is bad and must not be delivered again; the server removes it.
func (d *Delivery) Term(reason string) error {
	d.pulse.remove(d.msg)
	if err := d.msg.TermWithReason(reason); err != nil {
		return fmt.Errorf("refuse message: %w", err)
	}
	return nil
}

// A pulse sends heartbeats for the messages in hand, so that the server does not take their holder for dead.
type pulse struct {
	mu   sync.Mutex
	held map[jetstream.Msg]struct{}

	failed <-chan struct{} // closed when the server answers no more; nil if nobody knows
}

func newPulse() *pulse { return &pulse{held: map[jetstream.Msg]struct{}{}} }

func (p *pulse) add(m jetstream.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[m] = struct{}{}
}

func (p *pulse) remove(m jetstream.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, m)
}

func (p *pulse) all() []jetstream.Msg {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]jetstream.Msg, 0, len(p.held))
	for m := range p.held {
		all = append(all, m)
	}
	return all
}

// run beats until ctx is done. A beat that cannot be sent is no failure: the message is then delivered again.
func (p *pulse) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, m := range p.all() {
				_ = m.InProgress()
			}
		}
	}
}

// release gives every held message back, for a holder that is closing.
func (p *pulse) release() {
	for _, m := range p.all() {
		p.remove(m)
		_ = m.Nak()
	}
}
