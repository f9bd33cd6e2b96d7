package compaction

import (
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// TestMovesHoldCompactionUp: a pass in the middle of a move could drop a tombstone that
// the copy has not got yet, though it has what that deletes.
func TestMovesHoldCompactionUp(t *testing.T) {
	b := newBench(t, vfs.NewMem(), "t", "u")
	b.fill(0, 50)
	b.fill(1, 50)
	moving := true
	b.s.o.Moving = func(tp kafka.TopicPartition) bool { return moving && tp.Topic == "t" }
	if n := b.s.Run(); n != 1 || b.count(0) != 50 || b.count(1) == 50 {
		t.Fatalf("%d compacted, %d and %d records, want the second one only", n, b.count(0), b.count(1))
	}
	moving = false
	if n := b.s.Run(); n != 1 || b.count(0) == 50 {
		t.Fatalf("%d compacted after the move, %d records", n, b.count(0))
	}
}
