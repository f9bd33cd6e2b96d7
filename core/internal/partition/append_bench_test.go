package partition

import (
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// BenchmarkAppend is a producer's batch on a partition of one copy.
func BenchmarkAppend(b *testing.B) {
	r := newRig(b, vfs.OS(), nil)
	r.lead(1)
	a := &Append{Batch: batch(1, 2, 3), Acks: AllReplicas, Version: 9}
	for b.Loop() {
		a.Batch.Assign(0, kafka.NoLeaderEpoch)
		if out := r.p.Append(a); out.Code != kafka.None || out.Await != kafka.NoOffset {
			b.Fatal(out)
		}
	}
}

// BenchmarkFetch is a consumer's fetch of the newest batch.
func BenchmarkFetch(b *testing.B) {
	r := newRig(b, vfs.OS(), nil)
	r.lead(1)
	base := r.mustAppend(batch(1, 2, 3)).Base
	q := anyEpoch(base)
	q.MaxBytes = 1 << 20
	var out Fetched
	for b.Loop() {
		r.p.Fetch(&q, &out)
		out.Range.Release()
	}
}
