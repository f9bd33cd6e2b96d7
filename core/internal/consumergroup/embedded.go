package consumergroup

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// embeddedVersionMax is the newest version of the protocol that consumers speak
// inside of the classic one. Newer ones begin with the same fields.
const embeddedVersionMax = 3

// embedded is what a consumer says in its metadata (ConsumerProtocolSubscription).
type embedded struct {
	topics []string // sorted, each once
	rack   string
	have   []kmsg.ConsumerMemberMetadataOwnedPartition
}

// parseSubscription reads a consumer's metadata.
func parseSubscription(b []byte) (*embedded, bool) {
	version, ok := embeddedVersion(b)
	if !ok {
		return nil, false
	}
	if version > embeddedVersionMax {
		b = append(binary.BigEndian.AppendUint16(nil, embeddedVersionMax), b[2:]...)
	}
	m := kmsg.NewConsumerMemberMetadata()
	if err := m.ReadFrom(b); err != nil {
		return nil, false
	}
	e := &embedded{topics: distinct(m.Topics), have: m.OwnedPartitions}
	if m.Rack != nil {
		e.rack = *m.Rack
	}
	return e, true
}

// embeddedVersion is the version that metadata begin with.
func embeddedVersion(b []byte) (int16, bool) {
	if len(b) < 2 || b[0] >= 0x80 {
		return 0, false
	}
	return int16(binary.BigEndian.Uint16(b)), true
}

// owned is what the member says it has, of topics that exist.
func (e *embedded) owned(img *meta.Image) (list []TopicPartitions) {
	for _, have := range e.have {
		if t, ok := img.Topic(have.Topic); ok {
			list = append(list, TopicPartitions{t.ID, have.Partitions})
		}
	}
	return list
}

// EncodeAssignment is an assignment as classic consumers read it, in the version of
// their metadata.
func EncodeAssignment(a Assignment, metadata []byte, img *meta.Image) []byte {
	version, _ := embeddedVersion(metadata)
	m := kmsg.NewConsumerMemberAssignment()
	m.Version = min(version, embeddedVersionMax)
	for _, id := range topicOrder(a) {
		if t, ok := img.TopicByID(id); ok {
			m.Topics = append(m.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: t.Name, Partitions: a[id]})
		}
	}
	return m.AppendTo(nil)
}

// Assignment is what a member has now, as classic consumers read it.
func (m *Member) Assignment(img *meta.Image) []byte {
	return EncodeAssignment(m.Assigned.plain(), m.Classic.Protocols[0].Metadata, img)
}

// plain are the partitions alone.
func (o Owned) plain() Assignment {
	a := make(Assignment, len(o))
	for topic, partitions := range o {
		list := make([]int32, 0, len(partitions))
		for p := range partitions {
			list = append(list, p)
		}
		slices.Sort(list)
		a[topic] = list
	}
	return a
}

// parseAssignment reads what a classic leader assigned. ours: it says nothing beside
// partitions; what a leader's own assignor adds for members would be lost.
func parseAssignment(b []byte, img *meta.Image) (a Assignment, ours, ok bool) {
	if len(b) == 0 {
		return nil, true, true
	}
	version, ok := embeddedVersion(b)
	if !ok {
		return nil, false, false
	}
	if version > embeddedVersionMax {
		b = append(binary.BigEndian.AppendUint16(nil, embeddedVersionMax), b[2:]...)
	}
	m := kmsg.NewConsumerMemberAssignment()
	if err := m.ReadFrom(b); err != nil {
		return nil, false, false
	}
	a = Assignment{}
	for i := range m.Topics {
		if t, ok := img.Topic(m.Topics[i].Topic); ok {
			partitions := slices.Clone(m.Topics[i].Partitions)
			slices.Sort(partitions)
			a[kafka.TopicID(t.ID)] = slices.Compact(partitions)
		}
	}
	return a, len(m.UserData) == 0, true
}
