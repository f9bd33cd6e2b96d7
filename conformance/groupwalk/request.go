package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// requests makes the request of each operation as one broker is to get it.
var requests = map[string]func(v *view, o op) kmsg.Request{
	"join": (*view).join, "sync": (*view).sync, "beat": (*view).beat, "leave": (*view).leave, "commit": (*view).commit,
	"fetch": (*view).fetch, "forget": (*view).forget, "drop": (*view).drop, "describe": (*view).describe, "list": (*view).list,
	"create": (*view).create, "destroy": (*view).destroy, "heartbeat": (*view).heartbeat, "look": (*view).look,
}

// longMS is a timeout that never ends within a walk.
const longMS = 300_000

// hugeMetadata is more than offset.metadata.max.bytes.
const hugeMetadata = 5000

// spanMS is a timeout of an operation: long, or as short as the walk has it.
func (v *view) spanMS(text string) int32 {
	if text == "short" {
		return int32(v.side.short.Milliseconds())
	}
	return longMS
}

// sessionMS is a session timeout. A short one is less than other short timeouts: which
// of two that end at the same moment comes first is chance.
func (v *view) sessionMS(text string) int32 {
	if text == "short" {
		return v.spanMS(text) * 4 / 5
	}
	return v.spanMS(text)
}

// instance is the group.instance.id of a slot, if it has one.
func instance(slot int) *string {
	if slot < firstStatic {
		return nil
	}
	return kmsg.StringPtr(fmt.Sprint("i", slot))
}

// protocolNames are what the letters of an operation stand for. They are the names of
// Kafka's assignors: a tie between protocols is decided by the hash of their names.
var protocolNames = map[string]string{"a": "range", "b": "roundrobin", "c": "sticky", "d": "cooperative-sticky"}

// subscription is the metadata that a consumer of t0 joins with. Its user data differ
// by slot, protocol and variant.
func subscription(parts ...any) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = []string{"walk-t0"}
	m.UserData = []byte(fmt.Sprint(parts...))
	return m.AppendTo(nil)
}

func (v *view) join(o op) kmsg.Request {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.InstanceID = v.group, v.id(o), instance(o.slot)
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = v.sessionMS(o.args["session"]), v.spanMS(o.args["rebalance"])
	r.ProtocolType = o.args["type"]
	for letter := range strings.SplitSeq(o.args["protocols"], "") {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = protocolNames[letter], subscription(o.slot, letter, o.args["meta"])
		r.Protocols = append(r.Protocols, p)
	}
	return r
}

func (v *view) sync(o op) kmsg.Request {
	s := &v.slots[o.slot]
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.Generation, r.MemberID, r.InstanceID = v.group, v.generation(o), v.id(o), instance(o.slot)
	r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr(s.protocol)
	if p, ok := protocolNames[o.args["protocol"]]; ok {
		r.Protocol = &p
	}
	for _, id := range s.followers {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, fmt.Appendf(nil, "for %s in %d", v.symbol(id), r.Generation)
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	return r
}

func (v *view) beat(o op) kmsg.Request {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.Generation, r.MemberID, r.InstanceID = v.group, v.generation(o), v.id(o), instance(o.slot)
	return r
}

func (v *view) leave(o op) kmsg.Request {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Group, r.MemberID = v.group, v.id(o)
	for _, slot := range append([]int{o.slot}, digits(o.args["with"])...) {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID, m.InstanceID = v.id(op{slot: slot, args: o.args}), instance(slot)
		r.Members = append(r.Members, m)
	}
	return r
}

func digits(text string) []int {
	var all []int
	for _, c := range text {
		all = append(all, int(c-'0'))
	}
	return all
}

func (v *view) commit(o op) kmsg.Request {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation, r.MemberID = v.group, v.generation(o), v.id(o)
	if r.Generation >= 0 {
		r.InstanceID = instance(o.slot)
	}
	t, p := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	t.Topic, p.Partition, p.Offset = v.topic(o), int32(o.number("partition")), int64(o.number("offset"))
	switch m := o.args["meta"]; m {
	case "null":
	case "huge":
		p.Metadata = kmsg.StringPtr(strings.Repeat("h", hugeMetadata))
	default:
		p.Metadata = &m
	}
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func (v *view) fetch(o op) kmsg.Request {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Group, r.RequireStable = v.group, o.args["stable"] == "true"
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = v.group
	if o.args["topic"] != "all" {
		partitions := []int32{int32(o.number("partition"))}
		r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: v.topic(o), Partitions: partitions}}
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = v.topic(o), partitions
		g.Topics = append(g.Topics, t)
	}
	r.Groups = append(r.Groups, g)
	return r
}

func (v *view) forget(o op) kmsg.Request {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = v.group
	p := kmsg.OffsetDeleteRequestTopicPartition{Partition: int32(o.number("partition"))}
	r.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: v.topic(o), Partitions: []kmsg.OffsetDeleteRequestTopicPartition{p}}}
	return r
}

func (v *view) drop(op) kmsg.Request {
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Groups = []string{v.group}
	return r
}

func (v *view) describe(op) kmsg.Request {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Groups = []string{v.group}
	return r
}

func (v *view) list(o op) kmsg.Request {
	r := kmsg.NewPtrListGroupsRequest()
	if s := o.args["states"]; s != "any" {
		r.StatesFilter = []string{s}
	}
	return r
}

func (v *view) create(op) kmsg.Request {
	r := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = v.group+"-x", 2, 1
	r.Topics, r.TimeoutMillis = append(r.Topics, t), 30_000
	return r
}

func (v *view) destroy(op) kmsg.Request {
	r := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(v.group + "-x")
	r.TopicNames, r.Topics, r.TimeoutMillis = []string{*t.Topic}, append(r.Topics, t), 30_000
	return r
}

// topic is the real name of an operation's topic.
func (v *view) topic(o op) string {
	switch t := o.args["topic"]; t {
	case "x":
		return v.group + "-x"
	default:
		return "walk-" + t
	}
}
