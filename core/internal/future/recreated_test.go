package future

import (
	"context"
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// TestRecreatedPartitionKeepsItsLog deletes a partition between the swap and the removal
// of the log that it left. Another one of its name, in the directory of that log, keeps
// what it has when the mover comes to the removal.
func TestRecreatedPartitionKeepsItsLog(t *testing.T) {
	r := newRig(t)
	p := r.partition(0, 0)
	a, b := r.dirs.Dirs()[0], r.dirs.Dirs()[1]
	tp := p.TopicPartition()
	copyIn := func(dir string) *commitlog.Log {
		log, err := commitlog.Open(context.Background(), r.options(tp, dir))
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	caughtUp := func(*commitlog.Log) error { return nil }
	remove, err := p.Replace(copyIn(b.FuturePath(tp)), b, caughtUp)
	if err != nil {
		t.Fatal(err)
	}
	back := copyIn(a.FuturePath(tp))
	if _, err := p.Replace(back, a, caughtUp); !errors.Is(err, partition.ErrLeaving) {
		t.Errorf("back to where the old log still is: %v, want %v", err, partition.ErrLeaving)
	}
	if err := back.Delete(); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(); err != nil {
		t.Fatal(err)
	}
	r.nothingIn("/a")
	r.nothingIn("/b")
	again := r.partition(0, 5)
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(true); err != nil {
		t.Fatal(err)
	}
	log := copyIn(a.PartitionPath(tp))
	if end := log.EndOffset(); end != kafka.Offset(5) {
		t.Errorf("%d records are left of 5", end)
	}
	if err := log.Close(false); err != nil {
		t.Fatal(err)
	}
}
