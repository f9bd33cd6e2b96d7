package group

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
)

// errShort is a key without a version.
var errShort = errors.New("no version")

// errMembers is a record of the consumer protocol about a group of the classic one.
var errMembers = errors.New("its group is of the classic protocol and has members")

// Replay applies a record of the log. A nil value deletes. The error wraps
// ErrMalformed or ErrForeign; the record changed nothing then. The slices are not
// kept.
func (s *State) Replay(key, value []byte) error {
	if len(key) < 2 {
		return malformed("key", errShort)
	}
	switch version := binary.BigEndian.Uint16(key); version {
	case 0, offsetKeyVersion:
		return s.replayOffset(key, value)
	case groupKeyVersion:
		return s.replayGroup(key, value)
	default:
		if consumergroup.Kind(version) {
			return s.replayConsumers(key, value)
		}
		return ErrForeign
	}
}

// replayConsumers applies a record of a group of the consumer protocol. A group of
// offsets only becomes one.
func (s *State) replayConsumers(key, value []byte) error {
	id, c, err := consumergroup.Decode(key, value)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	g := s.groups[id]
	switch {
	case (g == nil || g.consumers == nil) && !consumergroup.Creates(c):
		return nil
	case g == nil || g.consumers == nil:
		if g != nil && len(g.order) > 0 {
			return malformed("consumer record", errMembers)
		}
		g = s.convertEmpty(id, g)
	case consumergroup.IsGroupTombstone(c):
		return s.deleted(g)
	}
	g.consumers.Apply(c)
	return nil
}

// convertEmpty makes a group of the consumer protocol, with the offsets of the one
// that there is.
func (s *State) convertEmpty(id string, old *Group) *Group {
	g := newGroup(id, unknownSince)
	g.consumers, g.watches = consumergroup.New(id), map[string]*watch{}
	if old != nil {
		g.offsets = old.offsets
	}
	s.groups[id] = g
	return g
}

// deleted makes what is left of a group that was deleted: a group of offsets only, if
// those are still there.
func (s *State) deleted(old *Group) error {
	delete(s.groups, old.id)
	if len(old.offsets) > 0 {
		g, _ := s.ensure(old.id, old.since)
		g.offsets = old.offsets
	}
	return nil
}

// replayOffset applies a committed offset.
func (s *State) replayOffset(key, value []byte) error {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(key); err != nil {
		return malformed("offset key", err)
	}
	if value == nil {
		if g := s.groups[k.Group]; g != nil {
			s.removeOffset(g, k.Topic, k.Partition)
		}
		return nil
	}
	v := kmsg.NewOffsetCommitValue()
	if err := v.ReadFrom(value); err != nil {
		return malformed("offset value", err)
	}
	g, _ := s.ensure(k.Group, v.CommitTimestamp)
	o := Offset{At: v.Offset, LeaderEpoch: v.LeaderEpoch, Metadata: v.Metadata, CommitMS: v.CommitTimestamp, ExpireMS: noExpiry}
	if v.Version == offsetValueExpireVersion {
		o.ExpireMS = v.ExpireTimestamp
	}
	s.put(g, &put{topic: k.Topic, partition: k.Partition, offset: o})
	return nil
}

// replayGroup applies a group. A deleted group whose offsets are still there is a
// group of offsets only.
func (s *State) replayGroup(key, value []byte) error {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(key); err != nil {
		return malformed("group key", err)
	}
	old := s.groups[k.Group]
	if value == nil {
		if old == nil || old.consumers != nil {
			return nil
		}
		return s.deleted(old)
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return malformed("group value", err)
	}
	g := fromRecord(k.Group, &v)
	if old != nil {
		g.offsets = old.offsets
	}
	s.groups[k.Group] = g
	return nil
}

// fromRecord is the group that a record describes.
func fromRecord(id string, v *kmsg.GroupMetadataValue) *Group {
	g := newGroup(id, v.CurrentStateTimestamp)
	g.protocol, g.generation = v.Protocol, v.Generation
	if v.Version < 2 {
		g.since = unknownSince
	}
	protocol := ""
	if v.Protocol != nil {
		protocol = *v.Protocol
	}
	for i := range v.Members {
		x := &v.Members[i]
		m := &member{id: x.MemberID, instance: x.InstanceID, clientID: x.ClientID, host: x.ClientHost,
			sessionMS: x.SessionTimeoutMillis, rebalanceMS: x.RebalanceTimeoutMillis, protocolType: v.ProtocolType,
			assignment: bytes.Clone(x.Assignment),
			protocols:  []kmsg.JoinGroupRequestProtocol{{Name: protocol, Metadata: bytes.Clone(x.Subscription)}}}
		if v.Version == 0 || m.rebalanceMS < 0 {
			m.rebalanceMS = m.sessionMS
		}
		g.add(m)
		g.phase = Stable
	}
	g.protocolType, g.leader = v.ProtocolType, ""
	if v.Leader != nil {
		g.leader = *v.Leader
	}
	g.readTopics()
	return g
}
