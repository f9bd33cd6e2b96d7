package purgatory

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestNudgeBetweenReadAndParkIsNotLost: a partition that lost its role after it
// was read must not keep its readers until their deadline.
func TestNudgeBetweenReadAndParkIsNotLost(t *testing.T) {
	p, l, r := New(Options{}), new(List), new(recorder)
	entry := []Entry{{List: l, Seen: l.Progress()}}
	p.Nudge(l)
	if out := p.Park(new(Waiter), entry, 1<<31-1, time.Hour, r); out != Ready {
		t.Fatalf("outcome %v, want Ready", out)
	}
	if _, out := park(p, r, 1, time.Hour, l); out != Parked {
		t.Fatalf("outcome %v, want Parked: the nudge was before this read", out)
	}
	p.Close()
	expectWhys(t, r, Closed)
}

// reparker parks its waiter anew each time it is finished, as a fetch does that
// finds too little, until it has been finished enough.
type reparker struct {
	p       *Purgatory
	waiter  Waiter
	entries []Entry
	list    *List
	left    int // owned by who owns the waiter
	done    chan struct{}
	owners  atomic.Int32
}

func (r *reparker) Complete(*Waiter, Reason) { r.park() }

// park is run by one owner at a time, or the counts go wrong and -race reports it.
func (r *reparker) park() {
	for {
		if r.owners.Add(1) != 1 {
			panic("two owners of one waiter")
		}
		r.left--
		last := r.left == 0
		if !last {
			r.entries[0] = Entry{List: r.list, Seen: r.list.Progress()}
		}
		r.owners.Add(-1)
		if last {
			close(r.done)
			return
		}
		if r.p.Park(&r.waiter, r.entries, 1, time.Millisecond, r) == Parked {
			return
		}
	}
}

func TestWaitersArePeacefullyParkedAgain(t *testing.T) {
	const waiters, times = 4, 2000
	p, l := New(Options{MaxWorkers: 4}), new(List)
	var all []*reparker
	for range waiters {
		r := &reparker{p: p, list: l, entries: make([]Entry, 1), left: times, done: make(chan struct{})}
		all = append(all, r)
		go r.park()
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				p.Advance(l, 1)
				runtime.Gosched() // else one processor is this loop's for 10 ms a turn
			}
		}
	}()
	for _, r := range all {
		<-r.done
	}
	close(stop)
	<-stopped
	p.Close()
	if p.Waiting() != 0 || l.Waiting() != 0 || len(p.deadlines) != 0 {
		t.Fatalf("%d waiting, %d linked, %d deadlines; want none left", p.Waiting(), l.Waiting(), len(p.deadlines))
	}
}
