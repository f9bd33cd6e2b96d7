package alterpartition

import (
	"iter"
	"time"

	"github.com/mortisemq/mortise/core/internal/partition"
)

// checkLeast bounds how often followers are looked at, whatever the lag time is.
const checkLeast = 10 * time.Millisecond

// Watch has every partition look twice in replica.lag.time.max.ms whether its followers
// keep up, and tells the cluster of those that have failed here: the ones that failed
// already at once. It is called once, when the broker is registered.
func (s *Sender) Watch(all iter.Seq[*partition.Partition]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.all = all
	s.checker = s.o.Clock.AfterFunc(s.every(), func() { s.look(all) })
	s.running.Go(func() { s.lookForFailed(all) })
}

// every is the time between two looks.
func (s *Sender) every() time.Duration { return max(s.o.Lag()/2, checkLeast) }

// look looks at every partition, and comes again.
func (s *Sender) look(all iter.Seq[*partition.Partition]) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.running.Add(1) // Close waits for this look
	s.mu.Unlock()
	defer s.running.Done()
	now, d := s.o.Clock.Now(), s.o.Image().Draft()
	for p := range all {
		p.CheckISR(now)
		s.leave(d, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.checker.Reset(s.every())
	}
}
