package alterpartition

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
)

// batchMax is how many partitions one call asks for: more are decided one after the
// other, so that no single decision is huge.
const batchMax = 4096

// The pauses between tries, while nobody can decide.
const (
	pauseFirst = 50 * time.Millisecond
	pauseMost  = time.Second
)

// Cluster decides about in-sync replicas. meta.Control is one.
type Cluster interface {
	AlterISR(ctx context.Context, from kafka.BrokerID, epoch kafka.BrokerEpoch, changes []meta.ISRChange) ([]meta.ISRResult, error)
}

// Asker is who wants a change. *partition.Partition is one.
type Asker interface {
	// ISRAnswered takes the answer, and reports whether to ask again.
	ISRAnswered(c *meta.ISRChange, answer meta.ISRResult) (again bool)
}

// Options are the parts of a Sender. All are needed unless they say otherwise.
type Options struct {
	Self    kafka.BrokerID
	Epoch   func() kafka.BrokerEpoch // of this broker's registration
	Cluster Cluster
	Lag     func() time.Duration // replica.lag.time.max.ms
	Image   func() *meta.Image   // the newest
	Clock   clock.Clock          // nil: the system's
	Log     *slog.Logger         // nil: discarded
	Metrics *metrics.Registry    // nil: a private one
}

// Sender asks the cluster. It is safe for concurrent use.
type Sender struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	calls  *metrics.Counter
	failed *metrics.Counter

	running sync.WaitGroup

	mu      sync.Mutex
	queue   []wish
	busy    bool        // a goroutine sends
	closed  bool        // set by Close
	checker clock.Timer // nil: Watch was not called
	all     iter.Seq[*partition.Partition]
	leaving map[meta.PartitionID]struct{} // which copies, failed or without room, are asked about
	looking bool                          // a look of DirectoryFull is under way
}

// wish is a change and who wants it.
type wish struct {
	from   Asker
	change *meta.ISRChange
}

// New makes a sender. Nothing runs until something is asked for, or Watch is called.
func New(o Options) *Sender {
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.System{})
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Metrics = cmp.Or(o.Metrics, metrics.NewRegistry())
	s := &Sender{
		o:       o,
		leaving: map[meta.PartitionID]struct{}{},
		calls:   o.Metrics.Counter("mortise_alterpartition_calls_total", "Calls that asked the cluster for other in-sync replicas."),
		failed:  o.Metrics.Counter("mortise_alterpartition_failed_calls_total", "Calls for other in-sync replicas that nobody decided on."),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Propose is ask for a partition, in the form that partition.Parts wants.
func (s *Sender) Propose(p *partition.Partition, c *meta.ISRChange) { s.ask(p, c) }

// ask has the cluster asked for a change. It does not wait. A partition has one change
// under way at a time, and one to leave it, so that the queue is bounded by their number.
func (s *Sender) ask(from Asker, c *meta.ISRChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.queue = append(s.queue, wish{from, c})
	if !s.busy {
		s.busy = true
		s.running.Go(s.send)
	}
}

// send asks the cluster until nothing is wanted any more.
func (s *Sender) send() {
	pause := pauseFirst
	for {
		batch := s.next()
		if len(batch) == 0 {
			return
		}
		again := s.call(batch)
		if len(again) == 0 {
			pause = pauseFirst
			continue
		}
		if !s.wait(pause) {
			return
		}
		pause = min(2*pause, pauseMost)
		s.mu.Lock()
		s.queue = append(again, s.queue...)
		s.mu.Unlock()
	}
}

// next takes what is wanted; nothing: the goroutine ends.
func (s *Sender) next() []wish {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) == 0 {
		s.queue, s.busy = nil, false
		return nil
	}
	n := min(len(s.queue), batchMax)
	batch := s.queue[:n:n]
	s.queue = s.queue[n:]
	return batch
}

// call asks for a batch of changes, tells the answers, and returns what must be asked
// for again.
func (s *Sender) call(batch []wish) (again []wish) {
	changes := make([]meta.ISRChange, len(batch))
	for i, w := range batch {
		changes[i] = *w.change
	}
	s.calls.Add(1)
	results, err := s.o.Cluster.AlterISR(s.ctx, s.o.Self, s.o.Epoch(), changes)
	if s.ctx.Err() != nil {
		return nil
	}
	if err != nil {
		s.failed.Add(1)
		s.o.Log.Debug("nobody decides about in-sync replicas now; asking again", "partitions", len(batch), "err", err)
	}
	for i, w := range batch {
		answer := meta.ISRResult{Err: errUndecided}
		if err == nil && i < len(results) {
			answer = results[i]
		}
		if w.from.ISRAnswered(w.change, answer) {
			again = append(again, w)
		}
	}
	return again
}

// errUndecided stands for the answer to a call that failed.
var errUndecided = kafka.ErrNetworkException.Err("")

// wait lets time pass, and reports whether the sender goes on.
func (s *Sender) wait(d time.Duration) bool {
	over := make(chan struct{})
	t := s.o.Clock.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// Close ends the call that is under way, and the looks of Watch. It waits for both.
func (s *Sender) Close() {
	s.mu.Lock()
	s.closed = true
	if s.checker != nil {
		s.checker.Stop()
	}
	s.mu.Unlock()
	s.cancel()
	s.running.Wait()
}
