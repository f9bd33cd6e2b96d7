package consumergroup

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
)

// ErrMalformed is a record that can't be read.
var ErrMalformed = errors.New("malformed record of a consumer group")

// The kinds of records, by the version of their key in Kafka's schemas.
const (
	kindGroup         = 3  // ConsumerGroupMetadata
	kindTopics        = 4  // ConsumerGroupPartitionMetadata
	kindMember        = 5  // ConsumerGroupMemberMetadata
	kindTarget        = 6  // ConsumerGroupTargetAssignmentMetadata
	kindTargetMember  = 7  // ConsumerGroupTargetAssignmentMember
	kindCurrentMember = 8  // ConsumerGroupCurrentMemberAssignment
	kindRegex         = 16 // ConsumerGroupRegularExpression
)

// valueVersion is the version of all values.
const valueVersion = 0

// Kind reports whether the version of a key is one of a consumer group's records.
func Kind(version uint16) bool {
	return version >= kindGroup && version <= kindCurrentMember || version == kindRegex
}

// key is a record's key: its kind, the group and for some kinds one thing in it.
func key(kind int16, group string, of ...string) []byte {
	b := kbin.AppendString(kbin.AppendInt16(nil, kind), group)
	for _, name := range of {
		b = kbin.AppendString(b, name)
	}
	return b
}

func (c setMember) Key(g string) []byte     { return key(kindMember, g, c.m.ID) }
func (c dropMember) Key(g string) []byte    { return key(kindMember, g, c.id) }
func (c setCurrent) Key(g string) []byte    { return key(kindCurrentMember, g, c.m.ID) }
func (c dropCurrent) Key(g string) []byte   { return key(kindCurrentMember, g, c.id) }
func (c setTarget) Key(g string) []byte     { return key(kindTargetMember, g, c.id) }
func (c dropTarget) Key(g string) []byte    { return key(kindTargetMember, g, c.id) }
func (setEpoch) Key(g string) []byte        { return key(kindGroup, g) }
func (dropEpoch) Key(g string) []byte       { return key(kindGroup, g) }
func (setTargetEpoch) Key(g string) []byte  { return key(kindTarget, g) }
func (dropTargetEpoch) Key(g string) []byte { return key(kindTarget, g) }
func (c setRegex) Key(g string) []byte      { return key(kindRegex, g, c.regex) }
func (c dropRegex) Key(g string) []byte     { return key(kindRegex, g, c.regex) }
func (setTopics) Key(g string) []byte       { return key(kindTopics, g) }
func (dropTopics) Key(g string) []byte      { return key(kindTopics, g) }

func (dropMember) Value() []byte      { return nil }
func (dropCurrent) Value() []byte     { return nil }
func (dropTarget) Value() []byte      { return nil }
func (dropEpoch) Value() []byte       { return nil }
func (dropTargetEpoch) Value() []byte { return nil }
func (dropRegex) Value() []byte       { return nil }
func (dropTopics) Value() []byte      { return nil }

// Value is never written: newer versions only delete this record.
func (setTopics) Value() []byte {
	return append(kbin.AppendCompactArrayLen(kbin.AppendInt16(nil, valueVersion), 0), 0)
}

// Value is ConsumerGroupMemberMetadataValue.
func (c setMember) Value() []byte {
	m := c.m
	b := kbin.AppendInt16(nil, valueVersion)
	b = kbin.AppendCompactNullableString(b, orNull(m.Instance))
	b = kbin.AppendCompactNullableString(b, orNull(m.Rack))
	b = kbin.AppendCompactString(b, m.ClientID)
	b = kbin.AppendCompactString(b, m.Host)
	b = appendStrings(b, m.Topics)
	b = kbin.AppendCompactString(b, m.Regex)
	b = kbin.AppendInt32(b, m.RebalanceMS)
	b = kbin.AppendCompactNullableString(b, orNull(m.Assignor))
	if m.Classic == nil {
		return appendTag(b, []byte{0})
	}
	x := kbin.AppendInt32([]byte{1}, m.Classic.SessionMS)
	x = kbin.AppendCompactArrayLen(x, len(m.Classic.Protocols))
	for _, p := range m.Classic.Protocols {
		x = kbin.AppendCompactString(x, p.Name)
		x = kbin.AppendCompactBytes(x, p.Metadata)
		x = append(x, 0)
	}
	return appendTag(b, append(x, 0))
}

// Value is ConsumerGroupCurrentMemberAssignmentValue.
func (c setCurrent) Value() []byte {
	b := kbin.AppendInt16(nil, valueVersion)
	b = kbin.AppendInt32(b, c.m.Epoch)
	b = kbin.AppendInt32(b, c.m.Previous)
	b = kbin.AppendInt8(b, int8(c.m.State))
	b = appendOwned(b, c.m.Assigned)
	b = appendOwned(b, c.m.Revoking)
	return append(b, 0)
}

// appendOwned appends partitions by topic, with their epochs in a tag.
func appendOwned(b []byte, o Owned) []byte {
	b = kbin.AppendCompactArrayLen(b, len(o))
	for _, topic := range topicOrder(o) {
		partitions := slices.Sorted(maps.Keys(o[topic]))
		b = kbin.AppendUuid(b, topic)
		b = appendNumbers(b, partitions)
		epochs := make([]int32, len(partitions))
		for i, p := range partitions {
			epochs[i] = o[topic][p]
		}
		if len(epochs) == 0 {
			b = append(b, 0)
			continue
		}
		b = appendTag(b, appendNumbers(nil, epochs))
	}
	return b
}

// Value is ConsumerGroupTargetAssignmentMemberValue.
func (c setTarget) Value() []byte {
	b := kbin.AppendCompactArrayLen(kbin.AppendInt16(nil, valueVersion), len(c.target))
	for _, topic := range topicOrder(c.target) {
		b = kbin.AppendUuid(b, topic)
		b = append(appendNumbers(b, c.target[topic]), 0)
	}
	return append(b, 0)
}

// Value is ConsumerGroupMetadataValue.
func (c setEpoch) Value() []byte {
	return appendLongTag(kbin.AppendInt32(kbin.AppendInt16(nil, valueVersion), c.epoch), c.hash)
}

// Value is ConsumerGroupTargetAssignmentMetadataValue.
func (c setTargetEpoch) Value() []byte {
	return appendLongTag(kbin.AppendInt32(kbin.AppendInt16(nil, valueVersion), c.epoch), c.ms)
}

// Value is ConsumerGroupRegularExpressionValue.
func (c setRegex) Value() []byte {
	b := appendStrings(kbin.AppendInt16(nil, valueVersion), c.r.Topics)
	b = kbin.AppendInt64(b, c.r.Version)
	return append(kbin.AppendInt64(b, c.r.AtMS), 0)
}

// appendTag appends the tags of a message: number 0 alone.
func appendTag(b, value []byte) []byte {
	b = append(b, 1, 0)
	return append(kbin.AppendUvarint(b, uint32(len(value))), value...)
}

// appendLongTag appends the tags of a message: number 0, unless it is zero.
func appendLongTag(b []byte, n int64) []byte {
	if n == 0 {
		return append(b, 0)
	}
	return appendTag(b, kbin.AppendInt64(nil, n))
}

func appendStrings(b []byte, list []string) []byte {
	b = kbin.AppendCompactArrayLen(b, len(list))
	for _, s := range list {
		b = kbin.AppendCompactString(b, s)
	}
	return b
}

func appendNumbers(b []byte, list []int32) []byte {
	b = kbin.AppendCompactArrayLen(b, len(list))
	for _, n := range list {
		b = kbin.AppendInt32(b, n)
	}
	return b
}

// orNull is a string as Kafka keeps it: there is no empty one.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// malformed says what could not be read of a record.
func malformed(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, ErrMalformed, err)
}
