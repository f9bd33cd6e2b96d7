package isr

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// noEpoch is the broker epoch of a follower that has not fetched yet.
const noEpoch kafka.BrokerEpoch = -1

// State is the leader's view of its followers during a leader epoch.
type State struct {
	self      kafka.BrokerID
	start     kafka.Offset // of the leader epoch
	followers []follower   // the replicas but the leader, in the order of the assignment
	committed []kafka.BrokerID
	pending   []kafka.BrokerID // asked for; nil: nothing
}

// Rules are what the topic and the cluster say at this moment.
type Rules struct {
	MinISR int           // min.insync.replicas
	Lag    time.Duration // replica.lag.time.max.ms
	// Eligible says whether a broker may be in sync: it is registered with this epoch,
	// not fenced and not shutting down.
	Eligible func(id kafka.BrokerID, epoch kafka.BrokerEpoch) bool
}

// Lead makes the state of a leader epoch that begins at start. Nothing is known of a
// follower before it fetches in this epoch, even if the leader led before: another may
// have led in between without this broker hearing of it, and have cut what the follower
// had.
func Lead(self kafka.BrokerID, replicas, isr []kafka.BrokerID, start kafka.Offset, now time.Time) *State {
	s := &State{self: self, start: start}
	s.assign(replicas)
	s.commit(isr)
	for i := range s.followers {
		s.followers[i].begin(start, now)
	}
	return s
}

// Assign takes over what the cluster has agreed on, within the same leader epoch. What
// was asked for is settled by it.
func (s *State) Assign(replicas, isr []kafka.BrokerID) {
	s.assign(replicas)
	s.commit(isr)
}

// assign makes the followers those of replicas; what is known of them is kept.
func (s *State) assign(replicas []kafka.BrokerID) {
	next := make([]follower, 0, len(replicas))
	for _, id := range replicas {
		if id == s.self {
			continue
		}
		if f := s.follower(id); f != nil {
			next = append(next, *f)
		} else {
			next = append(next, follower{id: id, epoch: noEpoch, start: kafka.NoOffset, end: kafka.NoOffset, leaderEnd: kafka.NoOffset})
		}
	}
	s.followers = next
}

// commit takes over an ISR that the cluster has agreed on.
func (s *State) commit(isr []kafka.BrokerID) {
	s.committed, s.pending = slices.Clone(isr), nil
	s.mark()
}

// mark notes for each follower whether it holds the high watermark. Who has left does so
// again when it has caught up: it may have left because it can't append.
func (s *State) mark() {
	for i := range s.followers {
		f := &s.followers[i]
		was := f.member
		if f.member = slices.Contains(s.committed, f.id); was && !f.member {
			f.caughtUp = time.Time{}
		}
		f.holds = f.member || slices.Contains(s.pending, f.id)
	}
}

// follower finds a follower; nil: it is not a replica.
func (s *State) follower(id kafka.BrokerID) *follower {
	for i := range s.followers {
		if s.followers[i].id == id {
			return &s.followers[i]
		}
	}
	return nil
}

// UnderMin reports whether fewer copies are in sync than min.insync.replicas asks for,
// bounded by how many copies there are at all.
func (s *State) UnderMin(minISR int) bool {
	return len(s.committed) < min(minISR, len(s.followers)+1)
}

// Outcome is what became of a follower's fetch.
type Outcome uint8

// The outcomes.
const (
	Heard    Outcome = iota
	Trimmed          // heard, and its log starts later than before
	Stranger         // no replica of this partition
	Outdated         // a later start of the same broker was heard already
)

// Position is what a follower says of itself when it fetches.
type Position struct {
	ID    kafka.BrokerID
	Epoch kafka.BrokerEpoch // of its registration
	Start kafka.Offset      // of its log
	End   kafka.Offset      // it fetches from here: it has everything below
}

// Progress notes where a follower is while the leader's log ends at leaderEnd.
//
// Hot: per partition and fetch of a follower. 0 allocs.
func (s *State) Progress(p Position, leaderEnd kafka.Offset, now time.Time) Outcome {
	f := s.follower(p.ID)
	switch {
	case f == nil:
		return Stranger
	case p.Epoch < f.epoch:
		return Outdated
	}
	out := Heard
	if f.start < p.Start {
		out = Trimmed
	}
	f.progress(p, leaderEnd, now)
	return out
}

// HighWatermark is what is committed when the leader's log ends at leaderEnd: what
// every member of the maximal ISR has. A follower that is caught up and about to join
// counts as well, or the high watermark would run away from it for ever.
//
// Hot: per append and per fetch of a follower. 0 allocs.
func (s *State) HighWatermark(current, leaderEnd kafka.Offset, now time.Time, r *Rules) kafka.Offset {
	if s.UnderMin(r.MinISR) {
		return current
	}
	hw := leaderEnd
	for i := range s.followers {
		f := &s.followers[i]
		if f.end < hw && (f.holds || f.keepsUp(leaderEnd, now, r.Lag) && f.eligible(r)) {
			hw = f.end
		}
	}
	return max(current, hw)
}

// Silent says whether a replica that holds the high watermark below upTo has not fetched
// for so long: nothing up to there can be committed before it does, or is out.
func (s *State) Silent(upTo kafka.Offset, now time.Time, d time.Duration) bool {
	for i := range s.followers {
		if f := &s.followers[i]; f.holds && f.end < upTo && now.Sub(f.fetched) >= d {
			return true
		}
	}
	return false
}

// LowWatermark is the least log start of the followers that are registered now, and
// most: what DeleteRecords has removed everywhere (KIP-107). NoOffset: one of them was
// not heard of yet.
func (s *State) LowWatermark(most kafka.Offset, r *Rules) kafka.Offset {
	low := most
	for i := range s.followers {
		if f := &s.followers[i]; f.epoch == noEpoch && f.member || f.eligible(r) {
			low = min(low, f.start)
		}
	}
	return low
}

// Member reports whether a replica is in the committed ISR.
func (s *State) Member(id kafka.BrokerID) bool { return slices.Contains(s.committed, id) }

// Follower is where a follower's log starts and ends, NoOffset when it has not fetched
// yet, and whether it is in the committed ISR.
func (s *State) Follower(id kafka.BrokerID) (start, end kafka.Offset, member bool) {
	f := s.follower(id)
	if f == nil {
		return kafka.NoOffset, kafka.NoOffset, false
	}
	return f.start, f.end, f.member
}
