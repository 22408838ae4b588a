package fleet

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestStoreOnAFullDisk fills the disk of the hub's store. The hub says that it has failed and what to do; when there is room
// and it is opened again, every game that it has acknowledged is there.
func TestStoreOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no small disk to fill: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(disk, 0)) })
	noLeak(t)
	ctx := deadline(t)
	p := params(filepath.Join(disk, "hub"))
	p.MaxGames = 64 << 20
	h, err := OpenHub(ctx, p)
	must(t, err)
	must(t, h.SetManifest(ctx, manifest))
	w, err := h.Join(ctx, WorkerParams{Name: "w"})
	must(t, err)
	must(t, w.Put(ctx, record(t, 0)))
	must(t, h.Err())
	in := gamesOf(t, h)
	held := next(t, in)

	ballast := filepath.Join(disk, "ballast")
	f, err := os.Create(ballast)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	must(t, f.Close())
	put, cancel := context.WithCancel(ctx)
	defer cancel()
	acknowledged := make(chan uint64)
	go func() {
		n := uint64(1)
		for w.Put(put, record(t, n)) == nil {
			n++
		}
		acknowledged <- n
	}()
	select {
	case <-h.Failed():
	case <-ctx.Done():
		t.Fatal("the disk is full and the hub does not say so")
	}
	cancel()
	games := <-acknowledged
	wantError(t, h.Err(), p.Dir)
	wantError(t, h.Err(), "make room")
	wantError(t, held.Ack(ctx), "has failed")
	in.Close()
	must(t, w.Close())
	must(t, h.Close())
	must(t, os.Remove(ballast))

	h = openHub(t, p)
	in = gamesOf(t, h)
	defer in.Close()
	got := map[[32]byte]bool{}
	for range games {
		g := next(t, in)
		rec, err := g.Record()
		must(t, err)
		must(t, g.Ack(ctx))
		got[rec.Hash()] = true
	}
	for n := range games {
		if !got[record(t, n).Hash()] {
			t.Errorf("game %d of %d was acknowledged and is gone", n, games)
		}
	}
}

func gamesOf(t *testing.T, h *Hub) *Games {
	t.Helper()
	g, err := h.Games(deadline(t))
	must(t, err)
	return g
}
