package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions of Kafka's record schemas that are written: those of Kafka 4.4. All are
// read. Of an offset Kafka also writes the id of the topic, which the schema lets out
// when it is not known, and which is left out here: a cluster that takes the files over
// has given its topics other ids, and its Kafka would not find an offset that has the
// old one.
const (
	offsetKeyVersion         = 1
	offsetValueVersion       = 4
	offsetValueExpireVersion = 1 // the only one with a time of expiry
	groupKeyVersion          = 2
	groupValueVersion        = 3
)

// offsetKey is the key of a committed offset.
func offsetKey(group, topic string, partition int32) []byte {
	k := kmsg.OffsetCommitKey{Version: offsetKeyVersion, Group: group, Topic: topic, Partition: partition}
	return k.AppendTo(nil)
}

// offsetRecord commits an offset.
func offsetRecord(group string, p *put) Record {
	v := kmsg.NewOffsetCommitValue()
	v.Version = offsetValueVersion
	if p.offset.ExpireMS != noExpiry {
		v.Version = offsetValueExpireVersion
	}
	v.Offset, v.LeaderEpoch, v.Metadata = p.offset.At, p.offset.LeaderEpoch, p.offset.Metadata
	v.CommitTimestamp, v.ExpireTimestamp = p.offset.CommitMS, p.offset.ExpireMS
	return Record{Key: offsetKey(group, p.topic, p.partition), Value: v.AppendTo(nil)}
}

// offsetTombstone deletes an offset.
func offsetTombstone(group, topic string, partition int32) Record {
	return Record{Key: offsetKey(group, topic, partition)}
}

// groupKey is the key of a group.
func groupKey(id string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupKeyVersion, Group: id}
	return k.AppendTo(nil)
}

// groupTombstone deletes a group.
func groupTombstone(id string) Record { return Record{Key: groupKey(id)} }

// newGroupRecord writes a group that has no generation yet.
func newGroupRecord(g *Group) Record {
	v := kmsg.NewGroupMetadataValue()
	v.Version, v.CurrentStateTimestamp = groupValueVersion, g.since
	return Record{Key: groupKey(g.id), Value: v.AppendTo(nil)}
}

// groupRecord writes a group. Assignments are those given, or with nil the members'
// own.
func groupRecord(g *Group, given map[string][]byte) Record {
	v := kmsg.NewGroupMetadataValue()
	v.Version, v.ProtocolType, v.Generation, v.Protocol = groupValueVersion, g.protocolType, g.generation, g.protocol
	v.CurrentStateTimestamp = g.since
	if g.leader != "" {
		leader := g.leader
		v.Leader = &leader
	}
	for _, m := range g.order {
		x := kmsg.NewGroupMetadataValueMember()
		x.MemberID, x.InstanceID, x.ClientID, x.ClientHost = m.id, m.instance, m.clientID, m.host
		x.RebalanceTimeoutMillis, x.SessionTimeoutMillis = m.rebalanceMS, m.sessionMS
		x.Subscription, x.Assignment = m.metadata(g.protocol), m.assignment
		if given != nil {
			x.Assignment = given[m.id]
		}
		v.Members = append(v.Members, x)
	}
	return Record{Key: groupKey(g.id), Value: v.AppendTo(nil)}
}

// malformed says what could not be read of a record.
func malformed(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, ErrMalformed, err)
}
