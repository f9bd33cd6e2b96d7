package consumergroup

import (
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// reconciliation moves one member towards its target.
type reconciliation struct {
	epoch      int32 // of the target
	target     Assignment
	changed    bool // the subscription, just now
	subscribed func(kafka.TopicID) bool
	owner      func(kafka.TopicID, int32) int32
	owned      []TopicPartitions // what the member says it has
	known      bool              // whether it said so
}

// next is the member's next state; the same one if there is none. A member first
// gives up what is not its any more and says so, then gets its new epoch, and in it
// what its previous owners have given up.
func (r *reconciliation) next(m *Member) (*Member, *kafka.Error) {
	switch m.State {
	case Stable:
		switch {
		case m.Epoch != r.epoch:
			return r.compute(m, m.Epoch), nil
		case r.changed:
			return r.strip(m), nil
		}
		return m, nil
	case Unrevoked:
		switch {
		case !r.stillOwns(m.Revoking):
			return r.compute(m, m.Epoch), nil
		case r.changed:
			return r.strip(m), nil
		}
		return m, nil
	case Unreleased:
		return r.compute(m, m.Epoch), nil
	}
	if !r.known || len(r.owned) > 0 { // a state of a later version of Kafka's
		return nil, kafka.ErrFencedMemberEpoch.Err("The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.")
	}
	return r.compute(m, r.epoch), nil
}

// stillOwns reports whether the member may still have one of some partitions. Not to
// say what it has is to say yes.
func (r *reconciliation) stillOwns(these Owned) bool {
	if !r.known {
		return true
	}
	for i := range r.owned {
		for _, p := range r.owned[i].Partitions {
			if these.has(r.owned[i].Topic, p) {
				return true
			}
		}
	}
	return false
}

// strip takes topics away that the member does not subscribe to any more, ahead of
// the next target.
func (r *reconciliation) strip(m *Member) *Member {
	assigned, revoking := m.Assigned, m.Revoking
	for topic, partitions := range m.Assigned {
		if r.subscribed(topic) {
			continue
		}
		if len(assigned) == len(m.Assigned) {
			assigned, revoking = maps.Clone(m.Assigned), maps.Clone(m.Revoking)
			if revoking == nil {
				revoking = Owned{}
			}
		}
		delete(assigned, topic)
		merged := maps.Clone(revoking[topic])
		if merged == nil {
			merged = map[int32]int32{}
		}
		maps.Copy(merged, partitions)
		revoking[topic] = merged
	}
	if len(assigned) == len(m.Assigned) {
		return m
	}
	next := *m
	next.Assigned = assigned
	if len(revoking) > 0 && r.stillOwns(revoking) {
		next.State, next.Revoking = Unrevoked, revoking
	}
	next.advance(m.Epoch)
	return &next
}

// compute is the member on its way to the target.
func (r *reconciliation) compute(m *Member, epoch int32) *Member {
	keep, giveUp, get := Owned{}, Owned{}, Owned{}
	waits := false
	topics := maps.Clone(r.target)
	if topics == nil {
		topics = Assignment{}
	}
	for topic := range m.Assigned {
		if _, ok := topics[topic]; !ok {
			topics[topic] = nil
		}
	}
	for topic, target := range topics {
		if !r.subscribed(topic) {
			target = nil
		}
		for p, at := range m.Assigned[topic] {
			to := keep
			if _, ok := slices.BinarySearch(target, p); !ok {
				to = giveUp
			}
			to.set(topic, p, at)
		}
		for _, p := range target {
			switch {
			case keep.has(topic, p):
			case r.owner(topic, p) != -1 && !m.Revoking.has(topic, p):
				waits = true
			default:
				get.set(topic, p, r.epoch)
			}
		}
	}
	next := *m
	if len(giveUp) > 0 && r.stillOwns(giveUp) {
		next.State, next.Assigned, next.Revoking = Unrevoked, keep, giveUp
		next.advance(epoch)
		return &next
	}
	for topic, partitions := range get {
		for p, at := range partitions {
			keep.set(topic, p, at)
		}
	}
	next.State, next.Assigned, next.Revoking = Stable, keep, nil
	if waits {
		next.State = Unreleased
	}
	next.advance(r.epoch)
	return &next
}

// set adds a partition.
func (o Owned) set(topic kafka.TopicID, partition, epoch int32) {
	if o[topic] == nil {
		o[topic] = map[int32]int32{}
	}
	o[topic][partition] = epoch
}
