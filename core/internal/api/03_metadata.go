package api

import (
	"iter"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// Metadata (key 3), versions 0–13.
//
// Behaviour: an empty list of topics is all of them in version 0 and none later,
// where null is all. Versions 10 and 11 take no ids and no null names; from version
// 12 on, if any id is given, only ids count. A topic that does not exist is made in
// the background when the client and the broker allow it, and is unknown in this
// answer. Partitions without a leader are listed with LEADER_NOT_AVAILABLE. Brokers
// have the address of the listener that the client came in by; fenced ones, and those
// without that listener, are left out and their replicas offline. Every broker takes
// what a controller is for, so that the one that answers says it is it; a broker that
// is fenced names another.
//
// Not done: of the internal topics only __consumer_offsets is made on demand, because
// nothing fills the others yet.

// metadata answers key 3.
func (a *API) metadata(r *wire.Request) {
	var q kmsg.MetadataRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrMetadataResponse()
	if badMetadata(&q) {
		refuseMetadata(resp, &q)
		r.ReplyMessage(resp)
		return
	}
	c := &metadataCall{a: a, r: r, q: &q, resp: resp, img: a.image()}
	c.view = newViewer(c.img, r.Conn.Listener)
	c.cluster()
	switch {
	case q.Topics == nil || q.Version == 0 && len(q.Topics) == 0:
		c.allTopics()
	case c.byID():
		c.topicsByID()
	default:
		c.topicsByName()
	}
	r.ReplyMessage(resp)
}

// badMetadata reports a request that is refused as a whole.
func badMetadata(q *kmsg.MetadataRequest) bool {
	for i := range q.Topics {
		t := &q.Topics[i]
		named, identified := t.Topic != nil, t.TopicID != kafka.NoTopicID
		switch {
		case q.Version < 12 && (!named || identified):
			return true
		case !named && !identified:
			return true
		}
	}
	return false
}

// refuseMetadata answers a bad request: its topics with an error, and nothing else.
func refuseMetadata(resp *kmsg.MetadataResponse, q *kmsg.MetadataRequest) {
	resp.ErrorCode = int16(kafka.ErrInvalidRequest)
	for i := range q.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = int16(kafka.ErrInvalidRequest), q.Topics[i].Topic, q.Topics[i].TopicID
		if t.Topic == nil {
			t.Topic = kmsg.StringPtr("")
		}
		resp.Topics = append(resp.Topics, t)
	}
}

// metadataCall is one request being answered.
type metadataCall struct {
	a    *API
	r    *wire.Request
	q    *kmsg.MetadataRequest
	resp *kmsg.MetadataResponse
	img  *meta.Image
	view *viewer
}

// cluster fills in what is not about topics.
func (c *metadataCall) cluster() {
	all := nodes(c.img, c.r.Conn.Listener, false)
	for _, n := range all {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = int32(n.id), n.endpoint.Host, n.endpoint.Port, n.rack
		c.resp.Brokers = append(c.resp.Brokers, b)
	}
	c.resp.ClusterID = &c.img.ClusterID
	c.resp.ControllerID = int32(c.a.controllerFor(all))
	if !c.q.IncludeClusterAuthorizedOperations {
		return
	}
	c.resp.AuthorizedOperations = 0
	if c.a.authorizeCluster(c.r, OpDescribe) {
		c.resp.AuthorizedOperations = c.a.allowedOperations(c.r, ResourceCluster, clusterResourceName)
	}
}

// allTopics lists every topic that the client may see.
func (c *metadataCall) allTopics() {
	c.resp.Topics = make([]kmsg.MetadataResponseTopic, 0, c.img.TopicCount())
	seen := c.a.authorizeAll(c.r, OpDescribe, ResourceTopic, topicNames(c.img.Topics()))
	for t := range c.img.Topics() {
		if seen(t.Name) {
			c.add(t)
		}
	}
}

// byID reports whether any topic is asked for by id.
func (c *metadataCall) byID() bool {
	for i := range c.q.Topics {
		if c.q.Topics[i].TopicID != kafka.NoTopicID {
			return true
		}
	}
	return false
}

// topicsByID lists the topics with the ids, each once.
func (c *metadataCall) topicsByID() {
	done := map[kafka.TopicID]bool{kafka.NoTopicID: true}
	for i := range c.q.Topics {
		id := kafka.TopicID(c.q.Topics[i].TopicID)
		if done[id] {
			continue
		}
		done[id] = true
		t, ok := c.img.TopicByID(id)
		switch {
		case !ok:
			c.fail(kafka.ErrUnknownTopicID, nil, id)
		case !c.allowed(OpDescribe, t.Name):
			c.fail(kafka.ErrTopicAuthorizationFailed, nil, id)
		default:
			c.add(t)
		}
	}
}

// topicsByName lists the topics with the names, each once, and has those made that
// do not exist.
func (c *metadataCall) topicsByName() {
	create := c.q.Version < 4 || c.q.AllowAutoTopicCreation
	create = create && c.a.broker(c.img).AutoCreateTopics
	done := make(map[string]bool, len(c.q.Topics))
	seen := c.a.authorizeAll(c.r, OpDescribe, ResourceTopic, func(yield func(string) bool) {
		for i := range c.q.Topics {
			if !yield(*c.q.Topics[i].Topic) {
				return
			}
		}
	})
	for i := range c.q.Topics {
		name := *c.q.Topics[i].Topic // badMetadata let no null through
		if done[name] {
			continue
		}
		done[name] = true
		t, exists := c.img.Topic(name)
		switch {
		case !seen(name):
			c.fail(kafka.ErrTopicAuthorizationFailed, &name, kafka.NoTopicID)
		case exists:
			c.add(t)
		default:
			c.fail(c.missing(name, create), &name, kafka.NoTopicID)
		}
	}
}

// missing has a topic made that does not exist, if it may be, and returns the error
// to answer with meanwhile.
func (c *metadataCall) missing(name string, create bool) kafka.ErrorCode {
	mayCreate := create && (c.a.authorizeCluster(c.r, OpCreate) || c.allowed(OpCreate, name))
	switch {
	case create && !mayCreate:
		return kafka.ErrTopicAuthorizationFailed
	case badTopicName(name) != "":
		return kafka.ErrInvalidTopic
	case create && (name == coordinator.Topic || !isInternalTopic(name)) && name != clusterMetadataTopic:
		c.a.creator.ask(name)
	}
	return kafka.ErrUnknownTopicOrPartition
}

// topicNames are the names of topics.
func topicNames(topics iter.Seq[*meta.Topic]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for t := range topics {
			if !yield(t.Name) {
				return
			}
		}
	}
}

// allowed asks whether the client may do something to a topic.
func (c *metadataCall) allowed(op Operation, topic string) bool {
	return c.a.authorize(c.r, op, ResourceTopic, topic)
}

// fail adds a topic that is only an error.
func (c *metadataCall) fail(code kafka.ErrorCode, name *string, id kafka.TopicID) {
	t := kmsg.NewMetadataResponseTopic()
	t.ErrorCode, t.Topic, t.TopicID = c.a.code(c.r, code.Err("")), name, id
	if name != nil {
		t.IsInternal = isInternalTopic(*name)
		if code != kafka.ErrTopicAuthorizationFailed {
			c.operations(&t)
		}
	}
	c.resp.Topics = append(c.resp.Topics, t)
}

// add adds a topic.
func (c *metadataCall) add(topic *meta.Topic) {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID, t.IsInternal = &topic.Name, topic.ID, isInternalTopic(topic.Name)
	t.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(topic.Partitions))
	for n := range topic.Partitions {
		p, seen := &t.Partitions[n], c.view.look(&topic.Partitions[n])
		p.Partition, p.Leader, p.LeaderEpoch = int32(n), int32(seen.leader), int32(topic.Partitions[n].LeaderEpoch)
		p.Replicas, p.ISR, p.OfflineReplicas = seen.replicas, seen.isr, seen.offline
		p.ErrorCode = int16(c.inVersion(&seen))
		if c.q.Version == 0 { // it has no list of those that are offline
			p.Replicas, p.ISR = c.view.online(p.Replicas), c.view.online(p.ISR)
		}
	}
	c.operations(&t)
	c.resp.Topics = append(c.resp.Topics, t)
}

// inVersion is a partition's error in the words of the request's version.
func (c *metadataCall) inVersion(p *partitionView) kafka.ErrorCode {
	switch {
	case p.code == kafka.ErrListenerNotFound && c.q.Version < 6:
		return kafka.ErrLeaderNotAvailable
	case p.code == kafka.None && c.q.Version == 0 && len(p.offline) > 0:
		return kafka.ErrReplicaNotAvailable
	}
	return p.code
}

// operations fills in what the client may do to a topic, if it asked.
func (c *metadataCall) operations(t *kmsg.MetadataResponseTopic) {
	if c.q.IncludeTopicAuthorizedOperations {
		t.AuthorizedOperations = c.a.allowedOperations(c.r, ResourceTopic, *t.Topic)
	}
}
