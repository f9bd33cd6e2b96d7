package compaction

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/seeded"
)

// TestModel writes, deletes, compacts and restarts at random, and compares what the
// log says of every key with a map. Otherwise compaction could lose a last value, bring
// a deleted one back, or renumber.
func TestModel(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		r := newRig(newMem(t), rapid.Uint64().Draw(t, "seed"))
		r.limits.mapBytes = rapid.SampledFrom([]int64{6 * slotBytes, 12 * slotBytes, 1 << 16}).Draw(t, "map")
		fail := func(err error) {
			if err != nil {
				t.Helper()
				t.Fatal(err)
			}
		}
		fail(r.reopen(false))
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(t, "batches") {
					fail(r.append(rapid.IntRange(1, 4).Draw(t, "records"), 10))
				}
			},
			"compact": func(*rapid.T) {
				fail(r.compact())
				fail(reachesEnd(r.log))
			},
			"roll":    func(*rapid.T) { fail(r.log.Roll()) },
			"restart": func(t *rapid.T) { fail(r.reopen(rapid.Bool().Draw(t, "clean"))) },
			"time":    func(*rapid.T) { r.clock.Advance(400 * time.Millisecond) },
			"":        func(*rapid.T) { fail(r.check(r.log)) },
		})
		fail(r.log.Close(true))
	})
}
