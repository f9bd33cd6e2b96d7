package consumergroup

import (
	"bytes"
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Epochs that a member sends to leave.
const (
	LeaveEpoch       = -1 // for good
	LeaveStaticEpoch = -2 // a static member that will be back
)

// MemberState says how far a member is with its target assignment, by Kafka's
// numbers.
type MemberState int8

// The states of a member.
const (
	Stable     MemberState = 0
	Unrevoked  MemberState = 1 // it has to give partitions up
	Unreleased MemberState = 2 // it waits for partitions that others still have
	Unknown    MemberState = 127
)

// memberState is the state of a number in a record.
func memberState(n int8) MemberState {
	switch s := MemberState(n); s {
	case Stable, Unrevoked, Unreleased:
		return s
	}
	return Unknown
}

// Member is one member of a group. A Member that is in a Group never changes: a new
// one takes its place.
type Member struct {
	ID          string
	Instance    string // group.instance.id; empty: dynamic
	Rack        string // empty: not known
	ClientID    string
	Host        string // as Kafka writes it: /127.0.0.1
	RebalanceMS int32
	Topics      []string // subscribed names, sorted, each once
	Regex       string   // subscribed expression; empty: none
	Assignor    string   // empty: no wish
	Classic     *Classic // nil: it uses the consumer protocol

	Epoch    int32
	Previous int32 // the epoch before, whose answer may have been lost
	State    MemberState
	Assigned Owned
	Revoking Owned // to be given up before the member can go on
}

// Classic is what is kept of a member that uses the classic protocol in a group of
// the consumer protocol.
type Classic struct {
	SessionMS int32
	Protocols []Protocol // in order of preference; the first is used
}

// Protocol is an embedded protocol of a classic member.
type Protocol struct {
	Name     string
	Metadata []byte
}

// newMember is a member that nothing is known of yet.
func newMember(id string) *Member { return &Member{ID: id, Previous: -1} }

// reconciled reports whether the member has what its target of an epoch says.
func (m *Member) reconciled(epoch int32) bool { return m.State == Stable && m.Epoch == epoch }

// sameSubscription reports whether two members have the same metadata, which is what
// the member record says.
func (m *Member) sameSubscription(o *Member) bool {
	return m.ID == o.ID && m.Instance == o.Instance && m.Rack == o.Rack && m.ClientID == o.ClientID && m.Host == o.Host &&
		m.RebalanceMS == o.RebalanceMS && m.Regex == o.Regex && m.Assignor == o.Assignor &&
		slices.Equal(m.Topics, o.Topics) && m.Classic.equal(o.Classic)
}

// equal compares what is kept of classic members.
func (c *Classic) equal(o *Classic) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.SessionMS == o.SessionMS && slices.EqualFunc(c.Protocols, o.Protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// sameCurrent reports whether two members are equally far, which is what the record
// of the current assignment says.
func (m *Member) sameCurrent(o *Member) bool {
	return m.Epoch == o.Epoch && m.Previous == o.Previous && m.State == o.State && m.Assigned.Equal(o.Assigned) && m.Revoking.Equal(o.Revoking)
}

// advance gives the member another epoch.
func (m *Member) advance(epoch int32) { m.Previous, m.Epoch = m.Epoch, epoch }

// Owned are partitions by topic, each with the epoch in which it was assigned.
type Owned map[kafka.TopicID]map[int32]int32

// Epoch is the epoch in which a partition was assigned.
func (o Owned) Epoch(topic kafka.TopicID, partition int32) (int32, bool) {
	e, ok := o[topic][partition]
	return e, ok
}

// Equal compares partitions and epochs.
func (o Owned) Equal(p Owned) bool { return maps.EqualFunc(o, p, maps.Equal) }

// has reports whether a partition is among them.
func (o Owned) has(topic kafka.TopicID, partition int32) bool {
	_, ok := o[topic][partition]
	return ok
}

// Assignment are the partitions of a member without epochs, in ascending order.
type Assignment map[kafka.TopicID][]int32

// equal compares assignments.
func (a Assignment) equal(b Assignment) bool { return maps.EqualFunc(a, b, slices.Equal) }

// at are the partitions of an assignment, all assigned in one epoch.
func (a Assignment) at(epoch int32) Owned {
	o := make(Owned, len(a))
	for topic, partitions := range a {
		o[topic] = make(map[int32]int32, len(partitions))
		for _, p := range partitions {
			o[topic][p] = epoch
		}
	}
	return o
}

// topicOrder are the topics of partitions in a fixed order, so that what is written
// does not depend on the order of a map.
func topicOrder[V any](of map[kafka.TopicID]V) []kafka.TopicID {
	return slices.SortedFunc(maps.Keys(of), kafka.TopicID.Compare)
}
