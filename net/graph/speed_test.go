package graph

import (
	"testing"
	"time"

	"yinshzero/net"
)

func TestSpeed(t *testing.T) {
	clock := time.Unix(0, 0)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	got, err := Speed(net.Arch{Channels: 32, Blocks: 1}, 4, 2*time.Second, now)
	if err != nil || got != 4 { // two steps of four positions in two seconds
		t.Errorf("got %g positions a second, %v, want 4", got, err)
	}
	if _, err := Speed(net.Arch{}, 4, time.Second, now); err == nil {
		t.Error("no error for an empty arch")
	}
}

func BenchmarkStep(b *testing.B) {
	for _, arch := range []net.Arch{{Channels: 32, Blocks: 4}, {Channels: 32, Blocks: 4, Pooling: true}, {Channels: 64, Blocks: 6}, {Channels: 64, Blocks: 6, Pooling: true}} {
		b.Run(arch.String(), func(b *testing.B) {
			speed := 0.0
			for b.Loop() {
				s, err := Speed(arch, 256, time.Second, time.Now)
				if err != nil {
					b.Fatal(err)
				}
				speed = max(speed, s)
			}
			b.ReportMetric(speed, "positions/s")
		})
	}
}
