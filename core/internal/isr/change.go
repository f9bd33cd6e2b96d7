package isr

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Join is the ISR to ask for so that a follower which has just fetched gets in; nil: it
// is in, or may not join. It must have what is committed, and what the leader had when
// its epoch began: until the high watermark is there, it may be less than what the
// leader before has committed.
//
// Hot: per partition and fetch of a follower. 0 allocs unless it joins.
func (s *State) Join(id kafka.BrokerID, highWatermark kafka.Offset, r *Rules) []meta.ISRReplica {
	f := s.follower(id)
	if s.pending != nil || f == nil || f.member || f.end < highWatermark || f.end < s.start || !f.eligible(r) {
		return nil
	}
	return s.members(func(o *follower) bool { return o.member || o == f })
}

// Shrink is the ISR to ask for so that followers which don't keep up are out; nil:
// there are none.
//
// Cost: per partition and half of the lag time. 0 allocs unless one is out.
func (s *State) Shrink(leaderEnd kafka.Offset, now time.Time, r *Rules) []meta.ISRReplica {
	if s.pending != nil {
		return nil
	}
	in := func(f *follower) bool { return f.member && f.keepsUp(leaderEnd, now, r.Lag) }
	for i := range s.followers {
		if f := &s.followers[i]; f.member && !in(f) {
			return s.members(in)
		}
	}
	return nil
}

// members is the leader and the followers that are in, each with the registration of the
// broker that was heard of: the cluster compares it with the one that it knows, so that
// a broker which was started anew is not taken for the one before (KIP-903).
func (s *State) members(in func(*follower) bool) []meta.ISRReplica {
	list := make([]meta.ISRReplica, 0, len(s.followers)+1)
	list = append(list, meta.ISRReplica{ID: s.self, Epoch: noEpoch})
	for i := range s.followers {
		if f := &s.followers[i]; in(f) {
			list = append(list, meta.ISRReplica{ID: f.id, Epoch: f.epoch})
		}
	}
	return list
}

// Asked notes that an ISR was asked for: until Assign or Refused both it and the
// committed one hold the high watermark.
func (s *State) Asked(isr []meta.ISRReplica) {
	s.pending = make([]kafka.BrokerID, 0, len(isr))
	for _, m := range isr {
		s.pending = append(s.pending, m.ID)
	}
	s.mark()
}

// Pending reports whether a change is asked for and not settled.
func (s *State) Pending() bool { return s.pending != nil }

// Refused notes that what was asked for was not done, and never will be.
func (s *State) Refused() {
	s.pending = nil
	s.mark()
}
