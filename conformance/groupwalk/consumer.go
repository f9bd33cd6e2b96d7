package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerScript is the script of a group of the consumer protocol (KIP-848), to which
// a classic member comes now and then.
func consumerScript(seed uint64, group int, timed bool) []op {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, uint64(group))), timed: timed, consumer: true, members: slots}
	w.drawAssignor()
	joins := 2
	if w.members < slots {
		joins = 0 // a classic member would be one too many
	}
	for len(w.ops) < scriptOps {
		w.pick([]chance{
			{30, w.gatherConsumers}, {30, w.oneHeartbeat}, {6, w.leaveConsumer}, {10, w.commit}, {6, w.fetch},
			{3, w.deleteOffsets}, {2, w.deleteGroup}, {8, w.describeConsumers}, {2, w.describe}, {2, w.list}, {joins, w.oneJoin},
		})
	}
	return w.paced()
}

// gatherConsumers has some members join and tell what they own until all agree.
func (w *writer) gatherConsumers() {
	who := w.some()
	for _, s := range who {
		w.heartbeat(s, "0", "empty")
	}
	for range 2 {
		for _, s := range who {
			w.heartbeat(s, "cur", "all")
		}
	}
}

func (w *writer) oneHeartbeat() {
	w.heartbeat(w.anyone(), w.mostly("cur", "prev", "0", "7"), w.mostly("all", "null", "empty"))
}

func (w *writer) heartbeat(slot int, epoch, own string) {
	w.add("heartbeat", slot, 1, 1, "epoch", epoch, "own", own, "id", w.newID(), "rebalance", w.span(),
		"assignor", w.mostly(w.assignor, "odd", w.assignor, w.assignor), "topics", w.mostly("t0", w.topics...))
}

// drawAssignor chooses what the members of a group prefer and read, and how many there
// are. What uniform does with several topics depends on the order of their ids, which
// brokers make, and with more members than partitions on Java's order of hashes.
func (w *writer) drawAssignor() {
	w.assignor, w.topics = "range", []string{"t0,t1", "t1", "missing", "null"}
	if w.IntN(3) == 0 {
		w.assignor, w.topics, w.members = w.oneOf("uniform", "none"), []string{"missing", "null"}, 2
	}
}

// newID says whether a member comes back under another id.
func (w *writer) newID() string {
	if w.members < slots {
		return "cur"
	}
	return w.mostly("cur", "cur", "new")
}

func (w *writer) leaveConsumer() {
	w.add("heartbeat", w.anyone(), 1, 1, "epoch", w.mostly("-1", "-2"), "own", "null", "id", "cur")
}

func (w *writer) describeConsumers() { w.add("look", 0, 0, 1) }

// heartbeat is ConsumerGroupHeartbeat. The ids of members are the client's own: k1.2
// is the second of slot 1.
func (v *view) heartbeat(o op) kmsg.Request {
	s := &v.slots[o.slot]
	if s.consumerID == "" || o.args["id"] == "new" {
		s.made++
		s.consumerID = fmt.Sprintf("k%d.%d", o.slot, s.made)
	}
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.MemberID, r.InstanceID = v.group, s.consumerID, instance(o.slot)
	r.MemberEpoch = v.epoch(o)
	if r.MemberEpoch == 0 {
		r.RebalanceTimeoutMillis = v.spanMS(o.args["rebalance"])
		r.SubscribedTopicNames = v.subscribed(o.args["topics"])
		if a := o.args["assignor"]; a != "none" {
			r.ServerAssignor = &a
		}
	}
	switch o.args["own"] {
	case "empty":
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	case "all":
		r.Topics = append([]kmsg.ConsumerGroupHeartbeatRequestTopic{}, s.assigned...)
	}
	return r
}

// epoch is the member epoch that an operation means.
func (v *view) epoch(o op) int32 {
	switch o.args["epoch"] {
	case "cur":
		return v.slots[o.slot].epoch
	case "prev":
		return v.slots[o.slot].epochBefore
	}
	return int32(o.number("epoch"))
}

// subscribed are the real names of topics; nil for null.
func (v *view) subscribed(text string) []string {
	switch text {
	case "null":
		return nil
	case "t0,t1":
		return []string{"walk-t0", "walk-t1"}
	}
	return []string{"walk-" + text}
}

func (v *view) look(op) kmsg.Request {
	r := kmsg.NewPtrConsumerGroupDescribeRequest()
	r.Groups = []string{v.group}
	return r
}

// learnConsumer takes the epoch and the assignment from an answer.
func (s *slot) learnConsumer(r *kmsg.ConsumerGroupHeartbeatResponse) {
	if r.ErrorCode != 0 {
		return
	}
	if r.MemberEpoch != s.epoch {
		s.epochBefore, s.epoch = s.epoch, r.MemberEpoch
	}
	if r.Assignment == nil {
		return
	}
	s.assigned = nil
	for _, t := range r.Assignment.Topics {
		own := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		own.TopicID, own.Partitions = t.TopicID, t.Partitions
		s.assigned = append(s.assigned, own)
	}
}
