package consumergroup

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/mortisemq/mortise/core/kafka"
)

// Decode reads a record of a kind that Kind knows. A nil value is a deletion. The
// slices are not kept. The error wraps ErrMalformed.
func Decode(k, value []byte) (group string, c Change, err error) {
	r := kbin.Reader{Src: k}
	kind := r.Int16()
	group = r.String()
	of := ""
	switch kind {
	case kindMember, kindTargetMember, kindCurrentMember, kindRegex:
		of = r.String()
	}
	if err := r.Complete(); err != nil {
		return "", nil, malformed("key", err)
	}
	if value == nil {
		return group, deletion(kind, of), nil
	}
	v := kbin.Reader{Src: value}
	if version := v.Int16(); version != valueVersion {
		return "", nil, malformed("value", fmt.Errorf("version %d, want %d", version, valueVersion))
	}
	c = decoded(kind, of, &v)
	if !v.Ok() {
		return "", nil, malformed("value", kbin.ErrNotEnoughData)
	}
	return group, c, nil
}

// deletion is the change that a record without a value makes.
func deletion(kind int16, of string) Change {
	switch kind {
	case kindGroup:
		return dropEpoch{}
	case kindTopics:
		return dropTopics{}
	case kindMember:
		return dropMember{of}
	case kindTarget:
		return dropTargetEpoch{}
	case kindTargetMember:
		return dropTarget{of}
	case kindCurrentMember:
		return dropCurrent{of}
	default:
		return dropRegex{of}
	}
}

// decoded reads a value.
func decoded(kind int16, of string, v *kbin.Reader) Change {
	switch kind {
	case kindGroup:
		c := setEpoch{epoch: v.Int32()}
		tags(v, func(t *kbin.Reader) { c.hash = t.Int64() })
		return c
	case kindTopics:
		return setTopics{}
	case kindMember:
		return setMember{decodedMember(of, v)}
	case kindTarget:
		c := setTargetEpoch{epoch: v.Int32()}
		tags(v, func(t *kbin.Reader) { c.ms = t.Int64() })
		return c
	case kindTargetMember:
		return decodedTarget(of, v)
	case kindCurrentMember:
		return setCurrent{decodedCurrent(of, v)}
	default:
		c := setRegex{regex: of, r: Resolved{Topics: stringList(v), Version: v.Int64(), AtMS: v.Int64()}}
		tags(v, nil)
		return c
	}
}

// decodedMember reads ConsumerGroupMemberMetadataValue.
func decodedMember(id string, v *kbin.Reader) *Member {
	m := newMember(id)
	m.Instance, m.Rack = optional(v), optional(v)
	m.ClientID, m.Host = v.CompactString(), v.CompactString()
	m.Topics = distinct(stringList(v))
	m.Regex = optional(v)
	m.RebalanceMS = v.Int32()
	m.Assignor = optional(v)
	m.Classic = &Classic{} // what is there when the tag is not
	tags(v, func(t *kbin.Reader) {
		if t.Int8() == 0 {
			m.Classic = nil
			return
		}
		m.Classic.SessionMS = t.Int32()
		for range length(t) {
			p := Protocol{Name: t.CompactString(), Metadata: bytes.Clone(t.CompactBytes())}
			tags(t, nil)
			m.Classic.Protocols = append(m.Classic.Protocols, p)
		}
		tags(t, nil)
	})
	if m.Classic != nil && len(m.Classic.Protocols) == 0 { // nobody joins with none, and the first is looked at
		m.Classic = nil
	}
	return m
}

// decodedTarget reads ConsumerGroupTargetAssignmentMemberValue.
func decodedTarget(id string, v *kbin.Reader) Change {
	target := Assignment{}
	for range length(v) {
		topic := kafka.TopicID(v.Uuid())
		partitions := numberList(v)
		slices.Sort(partitions)
		target[topic] = slices.Compact(partitions)
		tags(v, nil)
	}
	tags(v, nil)
	return setTarget{id, target}
}

// decodedCurrent reads ConsumerGroupCurrentMemberAssignmentValue.
func decodedCurrent(id string, v *kbin.Reader) *Member {
	m := newMember(id)
	m.Epoch, m.Previous, m.State = v.Int32(), v.Int32(), memberState(v.Int8())
	m.Assigned = decodedOwned(v, m.Epoch)
	m.Revoking = decodedOwned(v, m.Epoch)
	tags(v, nil)
	return m
}

// decodedOwned reads partitions by topic. Versions before 4.3 did not say in which
// epoch a partition was assigned: then it is the member's.
func decodedOwned(v *kbin.Reader, otherwise int32) Owned {
	o := Owned{}
	for range length(v) {
		topic := kafka.TopicID(v.Uuid())
		partitions := numberList(v)
		var epochs []int32
		tags(v, func(t *kbin.Reader) { epochs = numberList(t) })
		at := make(map[int32]int32, len(partitions))
		for i, p := range partitions {
			at[p] = max(otherwise, 0)
			if len(epochs) == len(partitions) {
				at[p] = epochs[i]
			}
		}
		o[topic] = at
	}
	return o
}

// tags reads the tags of a message: number 0 with a function, and none of the others.
func tags(v *kbin.Reader, zero func(*kbin.Reader)) {
	for n := v.Uvarint(); n > 0 && v.Ok(); n-- {
		tag := v.Uvarint()
		t := kbin.Reader{Src: v.Span(int(v.Uvarint()))}
		if tag != 0 || zero == nil || !v.Ok() {
			continue
		}
		if zero(&t); !t.Ok() {
			v.Span(-1) // the whole is bad
		}
	}
}

// length is the length of an array. One that is null has none.
func length(v *kbin.Reader) int { return max(int(v.CompactArrayLen()), 0) }

func stringList(v *kbin.Reader) (list []string) {
	for range length(v) {
		if !v.Ok() {
			return nil
		}
		list = append(list, v.CompactString())
	}
	return list
}

func numberList(v *kbin.Reader) (list []int32) {
	for range length(v) {
		if !v.Ok() {
			return nil
		}
		list = append(list, v.Int32())
	}
	return list
}

// optional is a string that may be null, which is the same as none.
func optional(v *kbin.Reader) string {
	if s := v.CompactNullableString(); s != nil {
		return *s
	}
	return ""
}

// distinct sorts names and leaves each once. It changes its argument.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
