package registry_test

import (
	"fmt"
	"os"
	"time"

	"yinshzero/registry"
)

func Example() {
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := registry.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	id, err := r.Add([]byte("the weights"), registry.Meta{Step: 4000, Arch: "32x4", Created: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := r.Promote(id, registry.Verdict{At: now, Reason: "first model"}); err != nil {
		fmt.Println(err)
		return
	}
	best, _ := r.Best()
	fmt.Println(best.ID.Short(), best.Standing, best.Step, best.Verdict.Reason)
	// Output: f38329d23116 best 4000 first model
}
