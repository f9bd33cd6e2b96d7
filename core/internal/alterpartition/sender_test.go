package alterpartition

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// court is a cluster whose decisions a test makes.
type court struct {
	mu     sync.Mutex
	calls  [][]meta.ISRChange
	epochs []kafka.BrokerEpoch
	decide func(call int) ([]meta.ISRResult, error)
}

func (c *court) AlterISR(ctx context.Context, _ kafka.BrokerID, epoch kafka.BrokerEpoch, changes []meta.ISRChange) ([]meta.ISRResult, error) {
	c.mu.Lock()
	c.calls, c.epochs = append(c.calls, changes), append(c.epochs, epoch)
	n := len(c.calls)
	c.mu.Unlock()
	if results, err := c.decide(n); results != nil || err != nil {
		return results, err
	}
	return make([]meta.ISRResult, len(changes)), ctx.Err()
}

// wisher wants a change until it is told done.
type wisher struct {
	mu      sync.Mutex
	answers []kafka.ErrorCode
	gone    bool // wants nothing any more
}

func (w *wisher) ISRAnswered(_ *meta.ISRChange, a meta.ISRResult) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	code := kafka.None
	if a.Err != nil {
		code = a.Err.Code
	}
	w.answers = append(w.answers, code)
	return code == kafka.ErrNetworkException && !w.gone
}

// newSender makes a sender that asks c.
func newSender(t *testing.T, c *court) *Sender {
	epoch := kafka.BrokerEpoch(0)
	s := New(Options{Self: 1, Epoch: func() kafka.BrokerEpoch { epoch++; return epoch }, Cluster: c, Lag: func() time.Duration { return time.Second },
		Image: func() *meta.Image { return meta.Empty("c") }})
	t.Cleanup(s.Close)
	return s
}

// TestWishesShareCalls: what comes while a call is under way goes with the next.
func TestWishesShareCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		c := &court{decide: func(int) ([]meta.ISRResult, error) { <-open; return nil, nil }}
		s := newSender(t, c)
		people := make([]wisher, batchMax+2)
		s.ask(&people[0], &meta.ISRChange{})
		synctest.Wait()
		for i := range people[1:] {
			s.ask(&people[1+i], &meta.ISRChange{})
		}
		close(open)
		synctest.Wait()
		if len(c.calls) != 3 || len(c.calls[0]) != 1 || len(c.calls[1]) != batchMax || len(c.calls[2]) != 1 {
			t.Fatalf("%d calls", len(c.calls))
		}
		for i := range people {
			if len(people[i].answers) != 1 {
				t.Fatalf("wish %d was answered %d times", i, len(people[i].answers))
			}
		}
	})
}

// TestUndecidedIsAskedAgain until somebody decides, with the registration of that time,
// but not for who has given up meanwhile.
func TestUndecidedIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &court{decide: func(call int) ([]meta.ISRResult, error) {
			if call < 9 {
				return nil, errors.New("no majority")
			}
			return nil, nil
		}}
		s := newSender(t, c)
		var stays, goes wisher
		goes.gone = true
		s.ask(&stays, &meta.ISRChange{})
		s.ask(&goes, &meta.ISRChange{})
		time.Sleep(time.Minute) // fake: the bubble's clock
		synctest.Wait()
		if n := len(c.calls); n != 9 && n != 10 {
			t.Fatalf("%d calls", n)
		}
		if last := stays.answers[len(stays.answers)-1]; last != kafka.None || len(goes.answers) != 1 {
			t.Fatalf("answers %v and %v", stays.answers, goes.answers)
		}
		if c.epochs[len(c.epochs)-1] != kafka.BrokerEpoch(len(c.epochs)) {
			t.Fatalf("epochs %v", c.epochs)
		}
		if s.busy {
			t.Fatal("a goroutine runs although nothing is wanted")
		}
	})
}

// TestCloseEndsTries: nobody is told anything afterwards.
func TestCloseEndsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &court{decide: func(int) ([]meta.ISRResult, error) { return nil, errors.New("no majority") }}
		s := newSender(t, c)
		var w wisher
		s.ask(&w, &meta.ISRChange{})
		synctest.Wait()
		s.Close()
		told := len(w.answers)
		s.ask(&w, &meta.ISRChange{})
		synctest.Wait()
		if len(w.answers) != told || len(c.calls) != told {
			t.Fatalf("told %d times, then %d, in %d calls", told, len(w.answers), len(c.calls))
		}
	})
}

// TestWatchLooksTwiceInALag, and once when it begins; and ends with Close.
func TestWatchLooksTwiceInALag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, &court{})
		var looks atomic.Int64
		s.Watch(func(func(*partition.Partition) bool) { looks.Add(1) })
		time.Sleep(10*time.Second + time.Millisecond) // fake: the bubble's clock
		synctest.Wait()
		if n := looks.Load(); n != 21 {
			t.Errorf("%d looks in 10 s with a lag of 1 s, want 21", n)
		}
		s.Close()
		time.Sleep(10 * time.Second)
		if n := looks.Load(); n != 21 {
			t.Errorf("%d looks after Close", n-21)
		}
	})
}
