package purgatory

import (
	"sync/atomic"
	"testing"
	"time"
)

// tally is a watcher that counts.
type tally struct {
	bytes atomic.Int64
	over  bool
}

func (w *tally) Moved(n int64) { w.bytes.Add(n) }
func (w *tally) Over() bool    { return w.over }

func TestWatchersAreToldOfEverything(t *testing.T) {
	p, l := New(Options{}), new(List)
	defer p.Close()
	a, b := new(tally), new(tally)
	p.Advance(l, 1)
	l.Watch(a)
	p.Advance(l, 10)
	l.Watch(b)
	p.Nudge(l)
	l.Unwatch(a)
	p.Advance(l, 5)
	if a.bytes.Load() != 10+nudge || b.bytes.Load() != nudge+5 {
		t.Errorf("told of %d and %d bytes", a.bytes.Load(), b.bytes.Load())
	}
	b.over = true
	l.Watch(a)
	p.Advance(l, 1)
	if a.bytes.Load() != 11+nudge || b.bytes.Load() != nudge+5 {
		t.Errorf("told of %d and %d bytes; the second watcher was over", a.bytes.Load(), b.bytes.Load())
	}
	l.Unwatch(a)
	l.Unwatch(a)
	if l.watchers.Load() != nil {
		t.Error("somebody watches")
	}
}

// relay makes another list move.
type relay struct {
	p  *Purgatory
	to *List
}

func (r relay) Moved(n int64) { r.p.Advance(r.to, n) }
func (r relay) Over() bool    { return false }

// TestOneListForMany: who watches many lists waits at one of its own.
func TestOneListForMany(t *testing.T) {
	p, own, r := New(Options{}), new(List), new(recorder)
	defer p.Close()
	lists := make([]List, 100)
	for i := range lists {
		lists[i].Watch(relay{p, own})
	}
	if _, out := park(p, r, 10, time.Hour, own); out != Parked {
		t.Fatalf("outcome %v, want Parked", out)
	}
	p.Advance(&lists[7], 4)
	p.Advance(&lists[93], 6)
	p.running.Wait()
	expectWhys(t, r, Progress)
}

func TestWatchedAdvanceAllocatesNothing(t *testing.T) {
	p, l := New(Options{}), new(List)
	defer p.Close()
	l.Watch(new(tally))
	l.Watch(new(tally))
	if n := testing.AllocsPerRun(100, func() { p.Advance(l, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
