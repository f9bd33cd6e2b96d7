package purgatory

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// recorder keeps what its waiter was finished with.
type recorder struct {
	mu   sync.Mutex
	whys []Reason
}

func (r *recorder) Complete(_ *Waiter, why Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.whys = append(r.whys, why)
}

func (r *recorder) got() []Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Reason(nil), r.whys...)
}

// park parks a fresh waiter on lists as of now.
func park(p *Purgatory, r *recorder, need int64, wait time.Duration, lists ...*List) (*Waiter, Outcome) {
	w := new(Waiter)
	entries := make([]Entry, len(lists))
	for i, l := range lists {
		entries[i] = Entry{List: l, Seen: l.Progress()}
	}
	return w, p.Park(w, entries, need, wait, r)
}

func expectWhys(t *testing.T, r *recorder, want ...Reason) {
	t.Helper()
	got := r.got()
	if len(got) != len(want) {
		t.Fatalf("finished %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("finished %v, want %v", got, want)
		}
	}
}

func TestProgressFinishesOnceEnoughBytesCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b, r := New(Options{}), new(List), new(List), new(recorder)
		if _, out := park(p, r, 100, time.Second, a, b); out != Parked {
			t.Fatalf("outcome %v, want Parked", out)
		}
		p.Advance(a, 60)
		synctest.Wait()
		expectWhys(t, r)
		p.Advance(b, 40)
		synctest.Wait()
		expectWhys(t, r, Progress)
		if p.Waiting() != 0 || a.Waiting() != 0 || b.Waiting() != 0 {
			t.Fatalf("waiting %d, a %d, b %d after the finish, want none", p.Waiting(), a.Waiting(), b.Waiting())
		}
	})
}

func TestProgressBetweenReadAndParkIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l, r := New(Options{}), new(List), new(recorder)
		entries := []Entry{{List: l, Seen: l.Progress()}}
		p.Advance(l, 1) // after the read, before the park
		if out := p.Park(new(Waiter), entries, 1, time.Second, r); out != Ready {
			t.Fatalf("outcome %v, want Ready", out)
		}
		expectWhys(t, r)
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l, r := New(Options{}), new(List), new(recorder)
		began := time.Now()
		park(p, r, 1, 500*time.Millisecond, l)
		synctest.Wait()
		expectWhys(t, r)
		time.Sleep(500 * time.Millisecond) // fake time
		synctest.Wait()
		expectWhys(t, r, Timeout)
		if d := time.Since(began); d != 500*time.Millisecond {
			t.Fatalf("took %v, want 500ms", d)
		}
	})
}

// FETCH-04: the largest wait must neither overflow nor spin.
func TestHugeAndNegativeWaits(t *testing.T) {
	m := clock.NewManual(time.UnixMilli(0))
	p, l, r := New(Options{Clock: m}), new(List), new(recorder)
	park(p, r, 1, time.Duration(1<<63-1), l)
	m.Advance(24 * time.Hour)
	expectWhys(t, r)
	m.Advance(maxWait)
	expectWhys(t, r, Timeout)
	park(p, r, 1, -time.Second, l)
	m.Advance(tick)
	expectWhys(t, r, Timeout, Timeout)
}

func TestEarlierDeadlineRearmsTheTimer(t *testing.T) {
	m := clock.NewManual(time.UnixMilli(0))
	p, l := New(Options{Clock: m}), new(List)
	late, early := new(recorder), new(recorder)
	park(p, late, 1, 10*time.Second, l)
	park(p, early, 1, time.Second, l)
	m.Advance(time.Second)
	expectWhys(t, early, Timeout)
	expectWhys(t, late)
	m.Advance(9 * time.Second)
	expectWhys(t, late, Timeout)
}

func TestNudgeFinishesAllWhateverTheyNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := New(Options{}), new(List)
		var rs [3 * batchSize]recorder
		for i := range rs {
			park(p, &rs[i], 1<<40, time.Minute, l)
		}
		p.Nudge(l)
		synctest.Wait()
		for i := range rs {
			expectWhys(t, &rs[i], Progress)
		}
		p.Close()
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l, r := New(Options{}), new(List), new(recorder)
		w, _ := park(p, r, 1, time.Minute, l)
		w.Cancel()
		w.Cancel()
		expectWhys(t, r, Cancelled)
		if out := p.Park(w, []Entry{{List: l}}, 1, time.Minute, r); out != Gone {
			t.Fatalf("outcome %v after Cancel, want Gone", out)
		}
		if p.Waiting() != 0 || l.Waiting() != 0 {
			t.Fatalf("waiting %d and %d, want none", p.Waiting(), l.Waiting())
		}
	})
}

// A waiter that is hurried ends as if its time had come: now, or in its next Park.
func TestHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l, r := New(Options{}), new(List), new(recorder)
		w, _ := park(p, r, 1, time.Minute, l)
		w.Hurry()
		expectWhys(t, r, Timeout)
		w.Hurry()
		if out := p.Park(w, []Entry{{List: l}}, 1, time.Minute, r); out != Ready {
			t.Fatalf("outcome %v after Hurry, want Ready", out)
		}
		if out := p.Park(w, []Entry{{List: l}}, 1, time.Minute, r); out != Parked {
			t.Fatalf("outcome %v afterwards, want Parked", out)
		}
		p.Close()
		expectWhys(t, r, Timeout, Closed)
		if p.Waiting() != 0 || l.Waiting() != 0 {
			t.Fatalf("waiting %d and %d, want none", p.Waiting(), l.Waiting())
		}
	})
}

func TestBoundAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l, r := New(Options{MaxWaiters: 1}), new(List), new(recorder)
		park(p, r, 1, time.Minute, l)
		if _, out := park(p, r, 1, time.Minute, l); out != Full {
			t.Fatalf("outcome %v, want Full", out)
		}
		p.Close()
		expectWhys(t, r, Closed)
		if _, out := park(p, r, 1, time.Minute, l); out != Gone {
			t.Fatalf("outcome %v after Close, want Gone", out)
		}
	})
}

// One waiter of very many partitions counts as many.
func TestEntriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := New(Options{MaxEntries: 3}), new(recorder)
		var lists [4]List
		if _, out := park(p, r, 1, time.Minute, &lists[0], &lists[1], &lists[2], &lists[3]); out != Full {
			t.Fatalf("outcome %v of 4 entries, want Full", out)
		}
		park(p, r, 1, time.Second, &lists[0], &lists[1])
		if _, out := park(p, r, 1, time.Minute, &lists[0], &lists[1]); out != Full {
			t.Fatalf("outcome %v of 2 entries more, want Full", out)
		}
		time.Sleep(2 * time.Second) // fake time
		synctest.Wait()
		if _, out := park(p, r, 1, time.Minute, &lists[0], &lists[1], &lists[2]); out != Parked {
			t.Fatalf("outcome %v once the others ended, want Parked", out)
		}
		p.Close()
		expectWhys(t, r, Timeout, Closed)
	})
}

// again parks its waiter again until total bytes were seen.
type again struct {
	p     *Purgatory
	l     *List
	seen  int64
	total int64
	done  chan struct{}
}

func (a *again) Complete(w *Waiter, _ Reason) {
	for {
		a.seen = a.l.Progress()
		if a.seen >= a.total {
			close(a.done)
			return
		}
		if out := a.p.Park(w, []Entry{{List: a.l, Seen: a.seen}}, 1, time.Hour, a); out != Ready {
			return
		}
	}
}

func TestNoWakeIsLostUnderConcurrentAppends(t *testing.T) {
	const appenders, each, readers = 4, 2000, 16
	p, l := New(Options{}), new(List)
	var done []chan struct{}
	for range readers {
		a := &again{p: p, l: l, total: appenders * each, done: make(chan struct{})}
		done = append(done, a.done)
		a.Complete(new(Waiter), Progress)
	}
	var wg sync.WaitGroup
	for range appenders {
		wg.Go(func() {
			for range each {
				p.Advance(l, 1)
			}
		})
	}
	wg.Wait()
	for _, d := range done {
		<-d
	}
	p.Close()
}

func TestAdvanceAllocatesNothing(t *testing.T) {
	p, l := New(Options{}), new(List)
	if n := testing.AllocsPerRun(100, func() { p.Advance(l, 1) }); n != 0 {
		t.Fatalf("%v allocs per Advance, want 0", n)
	}
}

// FETCH-03: 500 idle consumers fire at most one timer per tick, and none at all
// once they left.
func TestIdleConsumersShareOneTimer(t *testing.T) {
	m := &countingClock{Manual: clock.NewManual(time.UnixMilli(0))}
	p, l := New(Options{Clock: m}), new(List)
	var ws []*Waiter
	r := new(recorder)
	for range 500 {
		w, _ := park(p, r, 1, 500*time.Millisecond, l)
		ws = append(ws, w)
	}
	if got := m.fired.Load() + m.made.Load(); got > 2 {
		t.Fatalf("%d timers for 500 waiters of one deadline, want 1", got)
	}
	m.Advance(500 * time.Millisecond)
	if got := len(r.got()); got != len(ws) {
		t.Fatalf("%d finished, want %d", got, len(ws))
	}
	fired := m.fired.Load()
	m.Advance(time.Hour)
	if m.fired.Load() != fired {
		t.Fatal("the timer fires although nobody waits")
	}
}

// countingClock counts the timers that were made and that fired.
type countingClock struct {
	*clock.Manual
	made, fired atomic.Int64
}

func (c *countingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.made.Add(1)
	return c.Manual.AfterFunc(d, func() { c.fired.Add(1); f() })
}
