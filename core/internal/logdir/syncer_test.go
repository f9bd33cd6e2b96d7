package logdir

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
)

// slowLog is a log whose flush takes a while.
type slowLog struct {
	end   atomic.Int64
	syncs atomic.Int64
	err   error
}

func (l *slowLog) Sync() (kafka.Offset, error) {
	end := l.end.Load()
	l.syncs.Add(1)
	time.Sleep(time.Millisecond) // fake time
	return kafka.Offset(end), l.err
}

// answers counts what waiters were told.
type answers struct {
	mu   sync.Mutex
	errs []error
}

func (a *answers) Synced(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errs = append(a.errs, err)
}

func (a *answers) all() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]error(nil), a.errs...)
}

// newTestSyncer makes a Syncer of a directory that notes its failure.
func newTestSyncer(c clock.Clock) (*Syncer, *atomic.Pointer[error]) {
	reg, failed := metrics.NewRegistry(), new(atomic.Pointer[error])
	return &Syncer{
		clock: c, max: 2, syncs: reg.Counter("syncs", "."), waits: reg.Counter("waits", "."),
		fail: func(_ string, err error) { failed.CompareAndSwap(nil, &err) },
		check: func() error {
			if err := failed.Load(); err != nil {
				return *err
			}
			return nil
		},
	}, failed
}

// 100 producers that append while a flush runs share the next one.
func TestGroupCommitAnswersEveryWaiterOfOneFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestSyncer(clock.System{})
		l, a := new(slowLog), new(answers)
		p := &Pending{Target: l}
		for i := range 100 {
			l.end.Add(1)
			s.Wait(p, kafka.Offset(i+1), a)
			if i == 0 {
				synctest.Wait() // the first flush has begun and covers one append
			}
		}
		time.Sleep(time.Second)
		s.close()
		if got := len(a.all()); got != 100 {
			t.Fatalf("%d answers, want 100", got)
		}
		if got := l.syncs.Load(); got != 2 {
			t.Fatalf("%d flushes for 100 appends, want 2", got)
		}
	})
}

func TestFailedFlushIsNeverRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestSyncer(clock.System{})
		broken := errors.New("input/output error")
		l, a := &slowLog{err: broken}, new(answers)
		p := &Pending{Target: l}
		s.Wait(p, 1, a)
		synctest.Wait()
		s.Wait(p, 2, a) // joins while the failing flush runs
		time.Sleep(time.Second)
		s.Wait(p, 3, a)
		s.close()
		for i, err := range a.all() {
			if !errors.Is(err, broken) {
				t.Fatalf("answer %d is %v, want the I/O error", i, err)
			}
		}
		if len(a.all()) != 3 || l.syncs.Load() != 1 {
			t.Fatalf("%d answers and %d flushes, want 3 and 1", len(a.all()), l.syncs.Load())
		}
	})
}

func TestClosedLogIsNoDiskError(t *testing.T) {
	synctest.Test(t, testClosedLog)
}

func testClosedLog(t *testing.T) {
	s, failed := newTestSyncer(clock.System{})
	a := new(answers)
	gone := &slowLog{err: ErrClosed}
	s.Wait(&Pending{Target: gone}, 1, a)
	s.close()
	if got := a.all(); len(got) != 1 || !errors.Is(got[0], ErrClosed) || failed.Load() != nil {
		t.Fatalf("answers %v, directory failed %v, want ErrClosed and a directory that works", got, failed.Load() != nil)
	}
}

func TestFlushWithinNeedsNoWaiterAndOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestSyncer(clock.System{})
		l1, l2 := new(slowLog), new(slowLog)
		p1, p2 := &Pending{Target: l1}, &Pending{Target: l2}
		s.FlushWithin(p1, 2*time.Second)
		s.FlushWithin(p2, time.Second) // earlier: the timer must move
		s.FlushWithin(p1, 2*time.Second)
		time.Sleep(time.Second + 10*time.Millisecond)
		synctest.Wait()
		if l1.syncs.Load() != 0 || l2.syncs.Load() != 1 {
			t.Fatalf("flushes %d and %d after one second, want 0 and 1", l1.syncs.Load(), l2.syncs.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if l1.syncs.Load() != 1 || l2.syncs.Load() != 1 {
			t.Fatalf("flushes %d and %d after two seconds, want 1 and 1", l1.syncs.Load(), l2.syncs.Load())
		}
		s.close()
	})
}

func TestWaitAfterCloseIsAnswered(t *testing.T) {
	s, _ := newTestSyncer(clock.System{})
	s.close()
	a := new(answers)
	s.Wait(&Pending{Target: new(slowLog)}, 1, a)
	if got := a.all(); len(got) != 1 || !errors.Is(got[0], ErrClosed) {
		t.Fatalf("answers %v, want ErrClosed", got)
	}
}

// quickLog is a log whose flush takes no time.
type quickLog struct {
	syncs atomic.Int64
	err   error
}

func (l *quickLog) Sync() (kafka.Offset, error) {
	l.syncs.Add(1)
	return 0, l.err
}

// timers counts how often a clock's timer was set.
type timers struct {
	clock.Clock
	set int
}

func (c *timers) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.set++
	return &countedTimer{c.Clock.AfterFunc(d, f), c}
}

type countedTimer struct {
	clock.Timer
	of *timers
}

func (t *countedTimer) Reset(d time.Duration) bool {
	t.of.set++
	return t.Timer.Reset(d)
}

func TestTimedFlushesOfManyLogsSetFewTimers(t *testing.T) {
	c := clock.NewManual(time.Unix(0, 0))
	counted := &timers{Clock: c}
	s, _ := newTestSyncer(counted)
	logs := make([]quickLog, 100)
	pending := make([]Pending, len(logs))
	for i := range logs {
		pending[i].Target = &logs[i]
		s.FlushWithin(&pending[i], time.Second+time.Duration(i%2)*time.Second)
	}
	if counted.set != 1 {
		t.Fatalf("the timer was set %d times, want once: the first is due first", counted.set)
	}
	early := &Pending{Target: new(quickLog)}
	s.FlushWithin(early, time.Millisecond)
	if counted.set != 2 || s.next != c.Now().Add(time.Millisecond) {
		t.Fatalf("the timer was set %d times, to %v: an earlier flush must set it", counted.set, s.next)
	}
	c.Advance(time.Millisecond)
	c.Advance(time.Second)
	c.Advance(time.Second)
	s.close()
	for i := range logs {
		if logs[i].syncs.Load() != 1 {
			t.Fatalf("log %d was flushed %d times, want once", i, logs[i].syncs.Load())
		}
	}
}
