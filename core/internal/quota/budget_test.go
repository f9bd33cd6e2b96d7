package quota

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitHasADefault(t *testing.T) {
	if got := Limit(-1); got != DefaultBytes {
		t.Errorf("Limit(-1) = %d, want %d", got, DefaultBytes)
	}
	if got := Limit(7); got != 7 {
		t.Errorf("Limit(7) = %d", got)
	}
}

func TestLargerThanLimitIsAdmittedAlone(t *testing.T) {
	b := NewBudget(10)
	if !b.TryAcquire(100) {
		t.Fatal("100 of 10 refused though nothing was held: the request could never run")
	}
	if b.TryAcquire(1) {
		t.Fatal("1 more granted at 100 of 10")
	}
	b.Release(100)
	if !b.TryAcquire(1) {
		t.Fatal("refused though nothing is held")
	}
}

func TestWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(10)
		b.TryAcquire(10)
		order := make(chan int64, 3)
		for _, n := range []int64{8, 3, 1} {
			go func() {
				b.Acquire(n, nil)
				order <- n
			}()
			synctest.Wait()
		}
		if b.TryAcquire(0) {
			t.Fatal("TryAcquire overtook waiters")
		}
		b.Release(10)
		synctest.Wait()
		if got := <-order; got != 8 {
			t.Fatalf("first served %d, want 8: a large request starves", got)
		}
		if _, _, waiting := b.Usage(); waiting != 2 {
			t.Fatalf("%d wait, want 2: 8+3 is over the limit and 1 may not overtake 3", waiting)
		}
		b.Release(8)
		synctest.Wait()
		if len(order) != 2 {
			t.Fatalf("%d served, want 2", len(order))
		}
	})
}

func TestStopEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(10)
		b.TryAcquire(6)
		stop := make(chan struct{})
		gone := make(chan bool)
		go func() { gone <- b.Acquire(10, stop) }()
		synctest.Wait()
		small := make(chan bool, 1)
		go func() { small <- b.Acquire(2, nil) }()
		synctest.Wait()
		close(stop)
		if <-gone {
			t.Fatal("Acquire said yes after stop")
		}
		synctest.Wait()
		if len(small) != 1 {
			t.Fatal("the one behind a waiter that left still waits")
		}
		if used, _, waiting := b.Usage(); used != 8 || waiting != 0 {
			t.Fatalf("used %d waiting %d, want 8 and 0", used, waiting)
		}
	})
}

func TestAcquireDoesNotAllocate(t *testing.T) {
	b := NewBudget(10)
	if n := testing.AllocsPerRun(100, func() { b.Acquire(5, nil); b.Release(5) }); n != 0 {
		t.Fatalf("%v allocs for bytes that are free, want 0", n)
	}
}

// Who holds some and waits for more gives up in time, so that two of them do not
// wait for each other for ever.
func TestExtendGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		for range 2 {
			if !b.TryAcquire(50) {
				t.Fatal("no room in an empty budget")
			}
		}
		start := time.Now()
		if b.Extend(10, 50, nil, time.Second) {
			t.Error("extended beyond the limit while somebody else holds bytes")
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("gave up after %v, want 1s", d)
		}
		done := make(chan bool)
		go func() { done <- b.Extend(200, 50, nil, time.Minute) }()
		synctest.Wait()
		if !b.Wanted() {
			t.Error("nobody waits")
		}
		b.Release(50) // of the other one: now the first is alone and may go over the limit
		if !<-done {
			t.Error("the last holder was not extended")
		}
		if used, _, _ := b.Usage(); used != 250 || !b.HalfUsed() || b.Wanted() {
			t.Errorf("%d bytes used, half %v, wanted %v", used, b.HalfUsed(), b.Wanted())
		}
	})
}
