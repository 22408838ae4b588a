package fleet

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"yinshzero/data"
)

// listening opens a hub with a port and a manifest.
func listening(t *testing.T) *Hub {
	t.Helper()
	p := params(t.TempDir())
	p.Listen, p.Keys = "127.0.0.1:0", filepath.Join(t.TempDir(), "fleet")
	return startRun(t, p)
}

// credentials makes and saves credentials of a worker, allowed in or not.
func credentials(t *testing.T, h *Hub, worker string, allowed bool) (Credentials, string) {
	t.Helper()
	c, err := Keygen(h.p.Keys, h.p.Run, worker)
	must(t, err)
	path := filepath.Join(t.TempDir(), worker+".creds")
	must(t, c.Save(path))
	if allowed {
		public, err := c.Public()
		must(t, err)
		must(t, Allow(h.p.Keys, Permit{worker, public}))
	}
	return c, path
}

func TestWorkerOfAnotherMachine(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := listening(t)
	_, path := credentials(t, h, "alice", true)
	w, err := Join(ctx, WorkerParams{URL: h.URL(), Creds: path, Models: t.TempDir()})
	must(t, err)
	closed := false
	t.Cleanup(func() {
		if !closed {
			must(t, w.Close())
		}
	})
	local := joinHub(t, h, "local")

	// All that a worker does, it may.
	weights := bytes.Repeat([]byte("weights "), 1<<17)
	id, err := h.PublishModel(ctx, weights)
	must(t, err)
	must(t, h.SetBest(ctx, data.ModelID{}, id))
	if best, err := w.WaitBest(ctx, data.ModelID{}); err != nil || best != id {
		t.Fatalf("best is %v, %v", best, err)
	}
	if b, err := w.Model(ctx, id); err != nil || !bytes.Equal(b, weights) {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	must(t, w.Put(ctx, record(t, 1)))
	must(t, local.Put(ctx, record(t, 2)))
	g := next(t, games(t, h))
	if g.Worker != "alice" {
		t.Errorf("the game is from %q", g.Worker)
	}
	must(t, g.Ack(ctx))
	must(t, h.PutJobs(ctx, job("g1", 0), job("g1", 1)))
	must(t, lease(t, w).Done(ctx, result(t)))
	must(t, lease(t, w).Release())
	must(t, lease(t, local).Release())
	if s := status(t, h); s.Results != 1 || strings.Join(s.Workers, " ") != "local alice" && strings.Join(s.Workers, " ") != "alice local" {
		t.Errorf("status %+v", s)
	}

	// What it does not do, it may not.
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	for _, subject := range []string{
		h.n.gameSubject("local"), h.n.resultSubject("local"), h.n.jobSubject("g1", "x"),
		"$KV." + h.n.keys() + ".best", "$O." + h.n.models() + ".M.x",
		"$JS.API.STREAM.DELETE." + h.n.games(), "$JS.API.STREAM.PURGE." + h.n.jobs(),
		"$JS.API.CONSUMER.MSG.NEXT." + h.n.games() + "." + ingest, "$JS.API.STREAM.CREATE.X",
	} {
		if err := w.publish(short, subject, "", []byte("evil")); err == nil {
			t.Errorf("a worker may publish to %s", subject)
		}
	}
	for _, subject := range []string{">", "games.>", "_INBOX.>", "_INBOX.local.>", "$KV.>"} {
		_, err := w.nc.SubscribeSync(subject)
		must(t, err)
	}
	must(t, w.nc.Flush())
	if err := w.nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("last error is %v", err)
	}
	if best, err := h.Best(ctx); err != nil || best != id {
		t.Errorf("best is %v, %v", best, err)
	}

	// Once revoked it is cut off for good, and says so.
	must(t, Revoke(h.p.Keys, "alice"))
	h.door.sweep(h.srv)
	for w.Err() == nil {
		runtime.Gosched()
	}
	if err := w.Put(ctx, record(t, 3)); !errors.Is(err, ErrClosed) || !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("put after being revoked: %v", err)
	}
	closed = true
	must(t, w.Close())
	if _, err := Join(ctx, WorkerParams{URL: h.URL(), Creds: path}); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("join after being revoked: %v", err)
	}
	must(t, local.Put(ctx, record(t, 4)))
}

func TestStrangersStayOut(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := listening(t)
	c, path := credentials(t, h, "alice", false)
	if _, err := Join(ctx, WorkerParams{URL: h.URL(), Creds: path}); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a worker that was not allowed: %v", err)
	}
	plain := strings.Replace(h.URL(), "tls:", "nats:", 1)
	for name, opts := range map[string][]nats.Option{
		"no key":         {nats.Secure(), nats.ClientTLSConfig(nil, nil)},
		"no TLS":         {},
		"user, password": {nats.UserInfo("hub", "hub")},
	} {
		if nc, err := nats.Connect(plain, opts...); err == nil {
			nc.Close()
			t.Errorf("%s: connected", name)
		}
	}
	// A worker does not fall for another hub, though it has the address.
	other, err := Keygen(t.TempDir(), "test", "alice")
	must(t, err)
	public, err := c.Public()
	must(t, err)
	must(t, Allow(h.p.Keys, Permit{"alice", public}))
	c.Certificate = other.Certificate
	opts, err := c.options()
	must(t, err)
	if nc, err := nats.Connect(h.URL(), opts...); err == nil {
		nc.Close()
		t.Error("connected to a hub with another certificate")
	}
	// Bytes that are no protocol do no harm.
	for _, junk := range []string{"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("\xff", 1<<16), "CONNECT {}\r\nPUB games.test.x 3\r\nabc\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL(), "tls://"))
		must(t, err)
		_, _ = conn.Write([]byte(junk))
		must(t, conn.Close())
	}
	w := joinHub(t, h, "local")
	must(t, w.Put(ctx, record(t, 1)))
	if s := status(t, h); s.Games != 1 {
		t.Errorf("status %+v", s)
	}
}

func TestPermits(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "fleet")
	if all, err := Permits(keys); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v", all, err)
	}
	a, err := Keygen(keys, "r", "alice")
	must(t, err)
	b, err := Keygen(keys, "r", "bob")
	must(t, err)
	if a.Certificate != b.Certificate || a.Seed == b.Seed {
		t.Error("want the same certificate and different keys")
	}
	pa, err := a.Public()
	must(t, err)
	pb, err := b.Public()
	must(t, err)
	must(t, Allow(keys, Permit{"alice", pa}))
	must(t, Allow(keys, Permit{"bob", pb}))
	must(t, Allow(keys, Permit{"alice", pa}))
	if all, err := Permits(keys); err != nil || len(all) != 2 || all[1] != (Permit{"alice", pa}) {
		t.Errorf("got %v, %v", all, err)
	}
	must(t, Revoke(keys, "bob"))
	wantError(t, Revoke(keys, "bob"), "not allowed in anyway")
	wantError(t, Allow(keys, Permit{"a.b", pa}), "worker")
	wantError(t, Allow(keys, Permit{"bob", a.Seed}), "begins with U")
	if all, err := Permits(keys); err != nil || len(all) != 1 {
		t.Errorf("got %v, %v", all, err)
	}
	must(t, os.WriteFile(filepath.Join(keys, allowedFile), []byte("{"), 0o644))
	_, err = Permits(keys)
	wantError(t, err, allowedFile)
	wantError(t, Allow(keys, Permit{"alice", pa}), allowedFile)
}

func TestCredentialsFile(t *testing.T) {
	dir := t.TempDir()
	c, err := Keygen(filepath.Join(dir, "fleet"), "r", "alice")
	must(t, err)
	path := filepath.Join(dir, "alice.creds")
	must(t, c.Save(path))
	if err := c.Save(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("saved over a file: %v", err)
	}
	if info, err := os.Stat(path); err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, err := ReadCredentials(path); err != nil || got != c {
		t.Errorf("got %v", err)
	}
	ctx := deadline(t)
	_, err = Join(ctx, WorkerParams{URL: "tls://127.0.0.1:1", Creds: path, Name: "bob"})
	wantError(t, err, "are for worker alice")
	for name, text := range map[string]string{
		"text": "x", "no seed": `{"run":"r","worker":"w"}`, "no worker": `{"run":"r","seed":"` + c.Seed + `"}`,
	} {
		bad := filepath.Join(dir, "bad")
		must(t, os.WriteFile(bad, []byte(text), 0o600))
		if _, err := ReadCredentials(bad); err == nil || !strings.Contains(err.Error(), bad) || strings.Contains(err.Error(), c.Seed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = Keygen(dir, "r", "a b")
	wantError(t, err, "worker")
}

func TestListenParams(t *testing.T) {
	for _, listen := range []string{"nowhere", "127.0.0.1:http!", "127.0.0.1:99999"} {
		p := params(t.TempDir())
		p.Listen, p.Keys = listen, t.TempDir()
		_, err := OpenHub(deadline(t), p)
		wantError(t, err, "listen address")
	}
	p := params(t.TempDir())
	p.Listen = "127.0.0.1:0"
	_, err := OpenHub(deadline(t), p)
	wantError(t, err, "directory of keys")
}
