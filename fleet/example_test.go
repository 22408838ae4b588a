package fleet_test

import (
	"context"
	"fmt"
	"os"

	"yinshzero/fleet"
	"yinshzero/rules"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	p := fleet.DefaultHubParams()
	p.Run, p.Dir = "example", dir
	hub, err := fleet.OpenHub(ctx, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hub.Close()
	if err := hub.SetManifest(ctx, fleet.Manifest{Variant: rules.Blitz()}); err != nil {
		fmt.Println(err)
		return
	}
	id, err := hub.PublishModel(ctx, []byte("the weights"))
	if err != nil {
		fmt.Println(err)
		return
	}

	w, err := hub.Join(ctx, fleet.WorkerParams{Name: "local"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	none := w.Best()
	if err := hub.SetBest(ctx, none, id); err != nil {
		fmt.Println(err)
		return
	}
	best, err := w.WaitBest(ctx, none)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := w.Model(ctx, best)
	fmt.Println(w.Manifest().Variant.Name, string(b), err)
	// Output: blitz the weights <nil>
}
