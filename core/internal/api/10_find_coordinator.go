package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// FindCoordinator (key 10), versions 0–6.
//
// Behaviour: a group's coordinator is the leader of its partition of
// __consumer_offsets, which is made when it is first asked for; the answer is
// COORDINATOR_NOT_AVAILABLE meanwhile. From version 4 on several keys are asked for
// at once.
//
// Not done: transactional ids have no coordinator yet (COORDINATOR_NOT_AVAILABLE),
// share groups neither (INVALID_REQUEST, as in a Kafka without them).

// The kinds of coordinators, by the protocol's numbers.
const (
	coordinatorGroup       = 0
	coordinatorTransaction = 1
	coordinatorShare       = 2
)

// findCoordinator answers key 10.
func (a *API) findCoordinator(r *wire.Request) {
	var q kmsg.FindCoordinatorRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if q.Version < 4 {
		e, code := a.coordinatorOf(r, q.CoordinatorType, q.CoordinatorKey)
		resp.ErrorCode = a.code(r, refused(code))
		resp.NodeID, resp.Host, resp.Port = e.node, e.host, e.port
		resp.ErrorMessage = kmsg.StringPtr(kafka.None.String())
		if code != kafka.None {
			resp.ErrorMessage = kmsg.StringPtr(code.Text())
		}
		r.ReplyMessage(resp)
		return
	}
	for _, key := range q.CoordinatorKeys {
		e, code := a.coordinatorOf(r, q.CoordinatorType, key)
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.NodeID, c.Host, c.Port, c.ErrorMessage = key, e.node, e.host, e.port, kmsg.StringPtr("")
		if q.CoordinatorType < coordinatorGroup || q.CoordinatorType > coordinatorShare { // Kafka refuses the request as a whole, in these words
			c.ErrorMessage = kmsg.StringPtr(code.Text())
		}
		c.ErrorCode = a.code(r, refused(code))
		resp.Coordinators = append(resp.Coordinators, c)
	}
	r.ReplyMessage(resp)
}

// refused is a code as an error; nil: none.
func refused(code kafka.ErrorCode) *kafka.Error {
	if code == kafka.None {
		return nil
	}
	return code.Err("")
}

// coordinatorNode is where a coordinator is.
type coordinatorNode struct {
	node int32
	host string
	port int32
}

// coordinatorOf finds the coordinator of a key.
func (a *API) coordinatorOf(r *wire.Request, kind int8, key string) (coordinatorNode, kafka.ErrorCode) {
	none := coordinatorNode{node: int32(kafka.NoBroker), port: -1}
	switch kind {
	case coordinatorGroup:
		if !a.authorize(r, OpDescribe, ResourceGroup, key) {
			return none, kafka.ErrGroupAuthorizationFailed
		}
	case coordinatorTransaction:
		if !a.authorize(r, OpDescribe, ResourceTransactionalID, key) {
			return none, kafka.ErrTransactionalIDAuthorizationFailed
		}
		return none, kafka.ErrCoordinatorNotAvailable
	default: // coordinatorShare too
		return none, kafka.ErrInvalidRequest
	}
	img := a.image()
	t, ok := img.Topic(coordinator.Topic)
	if !ok {
		a.creator.ask(coordinator.Topic)
		return none, kafka.ErrCoordinatorNotAvailable
	}
	p := &t.Partitions[group.Partition(key, int32(len(t.Partitions)))]
	b, ok := img.Broker(p.Leader)
	if !ok || b.Fenced {
		return none, kafka.ErrCoordinatorNotAvailable
	}
	e, ok := b.Endpoint(r.Conn.Listener)
	if !ok {
		return none, kafka.ErrCoordinatorNotAvailable
	}
	return coordinatorNode{node: int32(b.ID), host: e.Host, port: e.Port}, kafka.None
}

// offsetsTopic is __consumer_offsets as it is made. As in Kafka it is not made before
// there are offsets.topic.replication.factor brokers, so that the first client of a
// cluster that is still coming up does not leave it with one replica for good. A node
// that no other can join has no such future: it would serve no group.
func (a *API) offsetsTopic(img *meta.Image) meta.NewTopic {
	g := &a.broker(img).Groups
	factor := int(g.TopicReplicationFactor)
	if b, ok := img.Broker(a.deps.Self); !ok || b.Peer == "" {
		factor = min(factor, max(img.BrokerCount(), 1))
	}
	return meta.NewTopic{Name: coordinator.Topic, PartitionCount: g.TopicPartitions,
		ReplicationFactor: int16(factor),
		Configs: map[string]string{
			"cleanup.policy":   "compact",
			"compression.type": "producer",
			"segment.bytes":    fmt.Sprint(g.TopicSegmentBytes),
		}}
}
