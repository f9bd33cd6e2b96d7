package compaction

import (
	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// Status is what the compaction of one log has come to. Sizes are bytes.
type Status struct {
	Done  kafka.Offset // compacted below it; NoOffset: never was
	Clean int64        // below Done
	Dirty int64        // from there to where a pass could go now
	// Failed is why the log is left alone until the broker starts again; nil: it is not.
	Failed error
}

// Status tells about the log of a partition; false: it is not compacted. It changes
// nothing and reads no records.
func (s *Scheduler) Status(p *partition.Partition) (Status, bool) {
	failed := s.whyGaveUp(p)
	if !p.Config().Topic.CleanupCompact || p.Log() == nil {
		return Status{Done: kafka.NoOffset, Failed: failed}, failed != nil
	}
	log, done := p.Log(), s.done.peek(p)
	st := Status{Done: done, Failed: failed}
	f := facts{start: log.StartOffset(), stable: p.LastStable(), end: log.EndOffset(), segments: log.Segments(),
		earliest: func(kafka.Offset) (int64, bool, error) { return 0, false, nil }} // only for when a pass is due
	if c, _, err := examine(&f, p.Config().Topic, done, clock.Millis(s.o.Clock.Now())); err == nil {
		st.Clean, st.Dirty = c.clean, c.bytes
	}
	return st, true
}

// Failed calls yield with each log that can't be compacted and why.
func (s *Scheduler) Failed(yield func(*partition.Partition, error) bool) {
	s.mu.Lock()
	failed := make(map[*partition.Partition]error, len(s.failed))
	for p, err := range s.failed {
		failed[p] = err
	}
	s.mu.Unlock()
	for p, err := range failed {
		if !yield(p, err) {
			return
		}
	}
}

// forgetGone takes logs that are not this broker's any more, of deleted topics mostly,
// out of those that failed.
func (s *Scheduler) forgetGone() {
	s.mu.Lock()
	none := len(s.failed) == 0
	s.mu.Unlock()
	if none {
		return
	}
	here := map[*partition.Partition]bool{}
	for p := range s.o.Partitions {
		here[p] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.failed {
		if !here[p] {
			delete(s.failed, p)
			s.metrics.mark(s.o.Metrics, p.TopicPartition(), 0)
		}
	}
	s.metrics.failed.Set(int64(len(s.failed)))
}

// giveUp leaves a log alone from now on.
func (s *Scheduler) giveUp(p *partition.Partition, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[p] = why
	s.metrics.failed.Set(int64(len(s.failed)))
	s.metrics.mark(s.o.Metrics, p.TopicPartition(), 1)
}

// whyGaveUp is why the compaction of a log failed before; nil: it did not.
func (s *Scheduler) whyGaveUp(p *partition.Partition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed[p]
}
