//go:build js && wasm

// Command wasm answers the page's questions in a Web Worker, as the server does: the same package web/desk, compiled to
// WebAssembly, with ONNX Runtime as its network. worker.js of web/page starts it and is its only partner, through the object
// yinshzero: it gives site, the text of site.json, and network (see session), and takes ready or failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"syscall/js"

	"yinshzero/engine"
	"yinshzero/net"
	"yinshzero/rules"
	"yinshzero/web/desk"
	"yinshzero/web/site"
)

func main() {
	host := js.Global().Get("yinshzero")
	d, err := open(host)
	if err != nil {
		host.Call("failed", err.Error())
		return
	}
	a := &attendant{desk: d, open: map[int]context.CancelFunc{}}
	host.Call("ready", js.FuncOf(a.ask), js.FuncOf(a.cancel))
	select {} // the worker ends it
}

// open makes the Desk of the folder that host is about.
func open(host js.Value) (*desk.Desk, error) {
	s, err := site.Parse([]byte(host.Get("site").String()))
	if err != nil {
		return nil, err
	}
	arch, err := net.ParseArch(s.Arch)
	if err != nil {
		return nil, err
	}
	p := engine.DefaultParams()
	p.Version = s.Product
	if p.Variant, err = rules.ParseVariant(s.Variants[0]); err != nil {
		return nil, err
	}
	model := engine.Model{Name: s.ShortModel(), Network: newSession(host.Get("network"), arch).network, Arch: arch, Kernels: "onnxruntime-web"}
	p.Load = func(name string, _ rules.Variant) (engine.Model, error) {
		if name != model.Name {
			return engine.Model{}, fmt.Errorf("there is no model %q", name)
		}
		return model, nil
	}
	models := []desk.Model{{Name: model.Name, Variant: s.Variants[0]}}
	return desk.New(desk.Params{Engine: p, Models: func() []desk.Model { return models }, Static: true, Limits: desk.DefaultLimits()})
}

// An attendant passes questions on and answers back.
type attendant struct {
	desk *desk.Desk

	mu   sync.Mutex
	open map[int]context.CancelFunc // the questions that are not answered, by id
}

// ask is called with a question: id, name, body as text; line(text) for each line of a stream; end(answer, fault), of which
// one is a text.
func (a *attendant) ask(_ js.Value, args []js.Value) any {
	id, name, body, line, end := args[0].Int(), args[1].String(), args[2].String(), args[3], args[4]
	ctx, cancel := context.WithCancel(context.Background())
	a.mu.Lock()
	a.open[id] = cancel
	a.mu.Unlock()
	go func() {
		w := &answer{line: line, stream: name == "analyse"}
		err := a.desk.Answer(ctx, name, []byte(body), w)
		a.mu.Lock()
		delete(a.open, id)
		a.mu.Unlock()
		cancel()
		if err != nil {
			end.Invoke(js.Null(), fault(err))
			return
		}
		end.Invoke(w.text(), js.Null())
	}()
	return nil
}

// fault is the text of what the page is told of an error.
func fault(err error) string {
	var e *desk.Error
	if !errors.As(err, &e) {
		e = &desk.Error{Message: err.Error()}
	}
	text, _ := json.Marshal(e) // it holds texts alone
	return string(text)
}

// cancel is called with the id of a question whose answer is of no interest any more.
func (a *attendant) cancel(_ js.Value, args []js.Value) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop := a.open[args[0].Int()]; stop != nil {
		stop()
	}
	return nil
}

// An answer takes in what a Desk writes, in whole lines.
type answer struct {
	line   js.Value
	stream bool
	last   string
}

// Write implements io.Writer. It never fails.
func (a *answer) Write(b []byte) (int, error) {
	if a.last = string(b); a.stream {
		a.line.Invoke(a.last)
	}
	return len(b), nil
}

// text is what ends the answer: the object, or null after a stream.
func (a *answer) text() string {
	if a.stream {
		return "null"
	}
	return a.last
}
