//go:build js && wasm

package main

import (
	"errors"
	"sync"
	"syscall/js"
	"unsafe"

	"yinshzero/infer"
	"yinshzero/net"
	"yinshzero/rules"
)

// A session is a model that ONNX Runtime has loaded. It judges one Position at a time: its inputs planes and globals are arrays
// of bytes, run(settled) fills outputs, which are arrays of bytes by name, and then calls settled with null or a reason.
type session struct {
	arch                     net.Arch
	planes, globals, outputs js.Value
	run                      js.Value

	mu      sync.Mutex // held from the inputs to the outputs
	settled js.Func
	done    chan error
	policy  []float32
}

func newSession(host js.Value, arch net.Arch) *session {
	s := &session{
		arch: arch, planes: host.Get("planes"), globals: host.Get("globals"), outputs: host.Get("outputs"), run: host.Get("run"),
		done: make(chan error, 1), policy: make([]float32, net.PolicyPlanes*net.Cells),
	}
	s.settled = js.FuncOf(func(_ js.Value, args []js.Value) any {
		var err error
		if reason := args[0]; !reason.IsNull() {
			err = errors.New("ONNX Runtime: " + reason.String())
		}
		s.done <- err
		return nil
	})
	return s
}

// network is what one goroutine asks. All share the session.
func (s *session) network() infer.Network { return &network{session: s} }

// A network is a session as a goroutine sees it.
type network struct {
	*session
	owners [net.NumOwners * net.Cells]float32 // logits for the last Position, by owner, then cell
}

// Forward implements infer.Network.
func (n *network) Forward(planes []float32, legal []rules.Move, out *net.Output) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	split := net.NumPlanes * net.Cells
	js.CopyBytesToJS(n.planes, raw(planes[:split]))
	js.CopyBytesToJS(n.globals, raw(planes[split:net.PlaneLen]))
	n.run.Invoke(n.settled)
	if err := <-n.done; err != nil {
		return err
	}
	n.read("policy", n.policy)
	for i, m := range legal {
		plane, cell := net.PolicyIndex(m)
		out.Logits[i] = n.policy[plane*net.Cells+cell]
	}
	n.read("wdl", out.WDL[:])
	out.Rings = [net.NumRings]float32{}
	if n.arch.Has(net.Rings) {
		n.read("rings", out.Rings[:])
	}
	if n.arch.Has(net.Ownership) {
		n.read("ownership", n.owners[:])
	}
	return nil
}

// read copies an output.
func (s *session) read(name string, to []float32) { js.CopyBytesToGo(raw(to), s.outputs.Get(name)) }

// raw is the memory of numbers. WebAssembly is little endian, as the arrays of JavaScript are on what it runs on.
func raw(x []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x)) }

// Ownership implements infer.Network.
func (n *network) Ownership(out *infer.Ownership) {
	for cell := range out {
		for k := range out[cell] {
			out[cell][k] = n.owners[k*net.Cells+cell]
		}
	}
}
