package future

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// onMoved is a log that calls a function once, when a copy has taken the place of its
// log and the move is not over yet.
type onMoved struct {
	slog.Handler
	call func()
}

func (h *onMoved) Enabled(context.Context, slog.Level) bool { return true }

func (h *onMoved) Handle(_ context.Context, r slog.Record) error {
	if call := h.call; call != nil && r.Message == "partition moved" {
		h.call = nil
		call()
	}
	return nil
}

// TestRequestRightAfterTheSwap: what the request before copied is the log by then, and
// must not go as a copy that nobody needs.
func TestRequestRightAfterTheSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.partition(0, 100)
		a, b := r.dirs.Dirs()[0], r.dirs.Dirs()[1]
		r.mover.o.Log = slog.New(&onMoved{Handler: slog.DiscardHandler, call: func() { r.move(p, a) }})
		r.move(p, b)
		synctest.Wait()
		r.nothingIn("/b")
		r.readable(p, 100)
		if p.Dir() != a {
			t.Errorf("it is in %s", p.Dir().Path)
		}
	})
}

// TestCloseRightAfterTheSwap: the log stays open for its partition, which closes it as
// a clean stop wants it.
func TestCloseRightAfterTheSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.partition(0, 100)
		r.mover.o.Log = slog.New(&onMoved{Handler: slog.DiscardHandler, call: r.mover.stop})
		r.move(p, r.dirs.Dirs()[1])
		synctest.Wait()
		r.mover.Close()
		r.readable(p, 100)
	})
}

// TestMoveWaitsForTheEndOfTheOneBefore: it does so asleep.
func TestMoveWaitsForTheEndOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.partition(0, 0)
		a, b := r.dirs.Dirs()[0], r.dirs.Dirs()[1]
		copied, err := commitlog.Open(t.Context(), r.options(p.TopicPartition(), b.FuturePath(p.TopicPartition())))
		if err != nil {
			t.Fatal(err)
		}
		remove, err := p.Replace(copied, b, func(*commitlog.Log) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		r.move(p, a)
		synctest.Wait()
		if p.Dir() != b {
			t.Errorf("the old log is in %s, and the new one too", p.Dir().Path)
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		<-time.After(retryAfter) // the bubble's clock
		synctest.Wait()
		if p.Dir() != a {
			t.Errorf("it is in %s", p.Dir().Path)
		}
	})
}

// readable wants to read the last of n records.
func (r *rig) readable(p *partition.Partition, n kafka.Offset) {
	r.t.Helper()
	got, err := p.Log().Read(n-1, commitlog.ReadOptions{MaxBytes: 1, Upper: n, MinOne: true})
	if err != nil || got.Range == nil {
		r.t.Errorf("offset %d is not there: %v", n-1, err)
		return
	}
	got.Range.Release()
}
