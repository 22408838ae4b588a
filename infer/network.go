package infer

import (
	"yinshzero/net"
	"yinshzero/rules"
)

// A Network gives the raw numbers of one network about one Position at a time: a net.Program, see Compiled, or something that
// computes the same outside Go. It belongs to one goroutine.
type Network interface {
	// Forward does what net.Program.Forward does, and returns why it cannot, if so.
	Forward(planes []float32, legal []rules.Move, out *net.Output) error
	// Ownership tells, after a Forward that did not fail, what that head says: the logits that net.Expectation has.
	Ownership(out *Ownership)
}

// Ownership are the logits of every cell: a marker of the side to move when the game ends, none, a marker of the other side.
type Ownership = [net.Cells][net.NumOwners]float32

// Compiled returns what makes Networks of p, each for one goroutine.
func Compiled(p *net.Program) func() Network {
	return func() Network { return compiled{p.Clone()} }
}

// compiled is a Program as a Network.
type compiled struct{ *net.Program }

// Forward implements Network. It never fails.
func (c compiled) Forward(planes []float32, legal []rules.Move, out *net.Output) error {
	c.Program.Forward(planes, legal, out)
	return nil
}

// Ownership implements Network.
func (c compiled) Ownership(out *Ownership) {
	var e net.Expectation
	c.Auxiliary(nil, &e)
	*out = e.Ownership
}
