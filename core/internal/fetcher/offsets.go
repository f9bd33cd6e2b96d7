package fetcher

import (
	"errors"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// A follower whose end is not in the leader's log asks where that log ends and, unless
// that is before its own end, where it starts. Kafka's rules: beyond the leader's end
// (an unclean election) it cuts to it; before the leader's start (it was away for
// longer than records are kept) it begins anew there; in between it fetches again.

// ask builds a ListOffsets for the followers that are out of range; nil: there is none.
func (s *Session) ask() []byte {
	var q wire.FollowerOffsets
	kind := latest
	for range 2 {
		q = wire.FollowerOffsets{Replica: s.o.Self, Timestamp: -1}
		if kind == earlier {
			q.Timestamp = -2
		}
		for _, f := range s.asking {
			if kind == latest && f.phase == lost || kind == earlier && f.phase == behind {
				_, _, f.sent.CurrentLeaderEpoch = f.replica.FetchState()
				q.Partitions = append(q.Partitions, wire.FollowerOffset{TopicPartition: f.replica.TopicPartition(), CurrentLeaderEpoch: f.sent.CurrentLeaderEpoch})
			}
		}
		if len(q.Partitions) > 0 {
			break
		}
		kind = earlier
	}
	if len(q.Partitions) == 0 {
		s.asking = nil
		return nil
	}
	s.begin(wire.KeyListOffsets, wire.FollowerOffsetsVersion)
	s.frame = wire.AppendFollowerOffsets(s.frame, &q)
	return s.end(flight{what: kind})
}

// asked takes the answer to a ListOffsets.
func (s *Session) asked(now time.Time, flight flight, frame []byte) error {
	id, found, err := wire.DecodeFollowerOffsets(frame)
	if err = errors.Join(err, mismatch(flight, id)); err != nil {
		return err
	}
	want := lost
	if flight.what == earlier {
		want = behind
	}
	waiting := map[kafka.TopicPartition]*follower{}
	for _, f := range s.asking {
		if f.phase == want {
			waiting[f.replica.TopicPartition()] = f
		}
	}
	for _, o := range found {
		f := waiting[o.TopicPartition]
		if f == nil {
			continue
		}
		delete(waiting, o.TopicPartition)
		switch {
		case o.Err != kafka.None:
			s.rest(f, now, true)
		case want == lost:
			s.leaderEnds(now, f, o.Offset)
		default:
			s.leaderStarts(now, f, o.Offset)
		}
	}
	for _, f := range s.asking { // what the answer left out
		if waiting[f.replica.TopicPartition()] == f {
			s.rest(f, now, false)
		}
	}
	return nil
}

// leaderEnds goes on from the end of the leader's log.
func (s *Session) leaderEnds(now time.Time, f *follower, leaderEnd kafka.Offset) {
	end, _, role := f.replica.FetchState()
	if role != f.sent.CurrentLeaderEpoch || leaderEnd >= end {
		s.enter(f, behind)
		return
	}
	s.log(f).Warn("the leader's log ends before ours; truncating to its end", "end", end, "leader_end", leaderEnd)
	s.enter(f, fetching)
	s.changed(now, f, f.replica.TruncateForDivergence(role, kafka.NoLeaderEpoch, leaderEnd))
}

// leaderStarts goes on from the start of the leader's log, or from our end if that
// comes later.
func (s *Session) leaderStarts(now time.Time, f *follower, leaderStart kafka.Offset) {
	end, _, role := f.replica.FetchState()
	s.enter(f, fetching)
	if role != f.sent.CurrentLeaderEpoch || leaderStart <= end {
		s.rest(f, now, true) // in range again, unless the leader is not sure: not at the speed of the network
		return
	}
	s.log(f).Warn("the leader's log starts after our end; beginning anew there", "end", end, "leader_start", leaderStart)
	s.changed(now, f, f.replica.TruncateFully(role, leaderStart))
}
