package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// ElectLeaders (key 43), versions 0–2.
//
// Behaviour: each partition by itself. A partition that its preferred replica leads
// needs no election, nor an unclean one that has any leader; that is all there can be
// in a cluster of one broker. Asked about all topics the answer names them, and of
// their partitions only those for which something was to be done.

// Types of elections.
const (
	electPreferred int8 = 0
	electUnclean   int8 = 1
)

// electLeaders answers key 43.
func (a *API) electLeaders(r *wire.Request) {
	var q kmsg.ElectLeadersRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrElectLeadersResponse()
	var whole *kafka.Error
	switch {
	case !a.authorizeCluster(r, OpAlter):
		whole = kafka.ErrClusterAuthorizationFailed.Err("")
	case q.ElectionType != electPreferred && q.ElectionType != electUnclean:
		whole = kafka.ErrInvalidRequest.Err(fmt.Sprintf("Unknown election type %d", q.ElectionType))
	}
	resp.ErrorCode = a.code(r, whole)
	img := a.image()
	for i := range q.Topics {
		t := kmsg.NewElectLeadersResponseTopic()
		t.Topic = q.Topics[i].Topic
		for _, n := range q.Topics[i].Partitions {
			why := whole
			if why == nil {
				why = refuseElection(img, t.Topic, n, q.ElectionType)
			}
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = n, a.code(r, why), fullText(why)
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	if q.Topics == nil && whole == nil {
		resp.Topics = electAll(img, q.ElectionType)
	}
	r.ReplyMessage(resp)
}

// electAll is the answer about all topics.
func electAll(img *meta.Image, kind int8) []kmsg.ElectLeadersResponseTopic {
	all := make([]kmsg.ElectLeadersResponseTopic, 0, img.TopicCount())
	for topic := range img.Topics() {
		t := kmsg.NewElectLeadersResponseTopic()
		t.Topic = topic.Name
		for n := range topic.Partitions {
			why := refuseElection(img, t.Topic, int32(n), kind)
			if why.Code == kafka.ErrElectionNotNeeded {
				continue
			}
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = int32(n), int16(why.Code), fullText(why)
			t.Partitions = append(t.Partitions, p)
		}
		all = append(all, t)
	}
	return all
}

// refuseElection says why a partition gets no other leader: it is never nil, since the
// only replica of a partition is its leader, or is gone.
func refuseElection(img *meta.Image, topic string, n int32, kind int8) *kafka.Error {
	t, exists := img.Topic(topic)
	switch {
	case !exists:
		return kafka.ErrUnknownTopicOrPartition.Err("No such topic as " + topic)
	case n < 0 || int(n) >= len(t.Partitions):
		return kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("No such partition as %s-%d", topic, n))
	}
	p := &t.Partitions[n]
	switch {
	case p.Leader == p.Replicas[0], kind == electUnclean && p.Leader != kafka.NoBroker:
		return kafka.ErrElectionNotNeeded.Err("")
	case kind == electPreferred:
		return kafka.ErrPreferredLeaderNotAvailable.Err("")
	}
	return kafka.ErrEligibleLeadersNotAvailable.Err("")
}
