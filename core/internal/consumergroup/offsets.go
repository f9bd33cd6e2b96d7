package consumergroup

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// memberEpochVersion is the first version of OffsetCommit and OffsetFetch that knows
// epochs of members.
const memberEpochVersion = 9

// CheckCommit says who may commit offsets. A member is given where its epoch is an
// old one: then CheckStale is to be asked for each partition.
func (g *Group) CheckCommit(id string, epoch int32, version int16) (stale *Member, err *kafka.Error) {
	if epoch < 0 && len(g.members) == 0 {
		return nil, nil
	}
	m := g.members[id]
	switch {
	case m == nil:
		return nil, g.unknownMember(id)
	case m.Classic == nil && version < memberEpochVersion:
		return nil, kafka.ErrUnsupportedVersion.Err("OffsetCommit version 9 or above must be used by members using the consumer group protocol")
	case epoch == m.Epoch:
		return nil, nil
	case epoch > m.Epoch:
		return nil, m.staleEpoch("Received %s %d is newer than current member epoch %d.", epoch, m.Epoch)
	}
	return m, nil
}

// CheckStale says whether a member may commit a partition with an old epoch: if it
// has had the partition since then.
func (m *Member) CheckStale(epoch int32, topic kafka.TopicID, partition int32) *kafka.Error {
	since, ok := m.Assigned.Epoch(topic, partition)
	if !ok {
		since, ok = m.Revoking.Epoch(topic, partition)
	}
	if !ok || epoch < since {
		return m.staleEpoch("Received %s %d is older than the assignment epoch %d.", epoch, since)
	}
	return nil
}

// CheckFetch says who may read offsets with the epoch of a member. null is a request
// that names no member.
func (g *Group) CheckFetch(id string, null bool, epoch int32) *kafka.Error {
	if null && epoch < 0 {
		return nil
	}
	m := g.members[id]
	if null || m == nil {
		return g.unknownMember(id)
	}
	if epoch != m.Epoch {
		return m.staleEpoch("The received %s %d does not match the expected member epoch %d.", epoch, m.Epoch)
	}
	return nil
}

// staleEpoch is the refusal of an epoch, in the words of the member's protocol.
func (m *Member) staleEpoch(text string, epoch, other int32) *kafka.Error {
	if m.Classic != nil {
		return kafka.ErrIllegalGeneration.Err(fmt.Sprintf(text, "generation id", epoch, other))
	}
	return kafka.ErrStaleMemberEpoch.Err(fmt.Sprintf(text, "member epoch", epoch, other))
}
