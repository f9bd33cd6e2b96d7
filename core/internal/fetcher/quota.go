package fetcher

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// Quota holds back the fetching of throttled replicas (KIP-73,
// follower.replication.throttled.rate). It is safe for concurrent use.
type Quota interface {
	// Held is for how long a partition should not be fetched; 0: not at all.
	Held(tp kafka.TopicPartition) time.Duration
	// Took notes that so many bytes of a partition were fetched.
	Took(tp kafka.TopicPartition, bytes int)
}

// held leaves a follower alone while its quota is used up. One that has caught up is
// fetched all the same, so that nothing falls out of the ISR for it.
func (s *Session) held(f *follower, now time.Time) bool {
	if s.o.Quota == nil || f.lag == 0 {
		return false
	}
	d := s.o.Quota.Held(f.replica.TopicPartition())
	if d > 0 {
		s.restFor(f, now, d)
	}
	return d > 0
}

// took counts what was fetched.
func (s *Session) took(f *follower, n int) {
	if s.o.Quota != nil {
		s.o.Quota.Took(f.replica.TopicPartition(), n)
	}
}
