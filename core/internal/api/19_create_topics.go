package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// CreateTopics (key 19), versions 2–7.
//
// Behaviour, in Kafka's order: too many partitions refuse the whole request; then
// for each topic its name, whether it exists, its configs, its counts or its
// assignment. -1 stands for the broker's default. From version 5 on the answer has
// the counts and configs, from version 7 on the id. All topics of a request are one
// decision of the cluster, and the answer comes when it is in effect here, within
// the request's timeout.
//
// Not done: policies (create.topic.policy.class.name) and partition quotas.

// createTopics answers key 19.
func (a *API) createTopics(r *wire.Request) {
	q := new(kmsg.CreateTopicsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, q.TimeoutMillis)
		defer stop()
		c := &createTopicsCall{a: a, r: r, q: q, img: a.image(), resp: kmsg.NewPtrCreateTopicsResponse()}
		c.run(ctx)
		r.ReplyMessage(c.resp)
	})
}

// createTopicsCall is one request being answered.
type createTopicsCall struct {
	a    *API
	r    *wire.Request
	q    *kmsg.CreateTopicsRequest
	img  *meta.Image
	resp *kmsg.CreateTopicsResponse
}

// run decides about all topics.
func (c *createTopicsCall) run(ctx context.Context) {
	if ctx.Err() != nil {
		c.refuseAll(kafka.ErrRequestTimedOut.Err(""))
		return
	}
	topics := c.admitted()
	c.img = c.a.fresh(ctx, func(img *meta.Image) bool { // one of them may have been deleted a moment ago
		return !slices.ContainsFunc(topics, func(t *kmsg.CreateTopicsRequestTopic) bool {
			_, exists := img.Topic(t.Topic)
			return exists
		})
	})
	b := c.a.broker(c.img)
	if total := c.partitions(topics, int64(b.NumPartitions)); total > int64(b.MaxPartitionsPerRequest) {
		c.resp.Topics = nil
		c.refuseAll(kafka.ErrPolicyViolation.Err("Excessively large number of partitions per request."))
		return
	}
	seen, room := &collisions{img: c.img}, c.a.newRoom(c.img)
	var asked []*kmsg.CreateTopicsRequestTopic
	var topicsNew []meta.NewTopic
	for _, t := range topics {
		n, why := c.newTopic(t, seen, int32(b.NumPartitions), b.DefaultReplicationFactor)
		if why == nil {
			why = c.img.CheckNewTopic(&n)
		}
		if why == nil {
			why = room.take(&n)
		}
		if why != nil {
			c.fail(t.Topic, why)
			continue
		}
		asked, topicsNew = append(asked, t), append(topicsNew, n)
	}
	c.decide(ctx, asked, topicsNew)
}

// decide has the topics made and answers for them.
func (c *createTopicsCall) decide(ctx context.Context, asked []*kmsg.CreateTopicsRequestTopic, topics []meta.NewTopic) {
	if len(topics) == 0 {
		return
	}
	results, err := c.a.deps.Control.CreateTopics(ctx, topics, c.q.ValidateOnly)
	for i, t := range asked {
		switch {
		case err != nil:
			c.fail(t.Topic, c.a.refusal(err))
		case results[i].Err != nil:
			c.fail(t.Topic, results[i].Err)
		default:
			c.made(t, results[i].Topic, topics[i].Configs)
		}
	}
}

// admitted are the topics that may be looked at. Names that occur twice, that
// nobody can have or that the client may not make are answered here.
func (c *createTopicsCall) admitted() []*kmsg.CreateTopicsRequestTopic {
	count := map[string]int{}
	for i := range c.q.Topics {
		count[c.q.Topics[i].Topic]++
	}
	everything := c.a.authorizeCluster(c.r, OpCreate)
	var out []*kmsg.CreateTopicsRequestTopic
	for i := range c.q.Topics {
		t := &c.q.Topics[i]
		switch n := count[t.Topic]; {
		case n == 0: // answered with its first occurrence
		case n > 1:
			count[t.Topic] = 0
			c.fail(t.Topic, kafka.ErrInvalidRequest.Err("Duplicate topic name."))
		case t.Topic == clusterMetadataTopic:
			c.fail(t.Topic, kafka.ErrInvalidRequest.Err("Creation of internal topic "+clusterMetadataTopic+" is prohibited."))
		case !everything && !c.a.authorize(c.r, OpCreate, ResourceTopic, t.Topic):
			c.fail(t.Topic, kafka.ErrTopicAuthorizationFailed.Err("Authorization failed."))
		default:
			out = append(out, t)
		}
	}
	return out
}

// partitions is how many partitions the topics ask for. It looks at numbers only:
// nothing of that size is made before it has passed.
func (c *createTopicsCall) partitions(topics []*kmsg.CreateTopicsRequestTopic, standard int64) (total int64) {
	for _, t := range topics {
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			total += standard
		default:
			total += int64(max(t.NumPartitions, 0))
		}
	}
	return total
}

// newTopic turns one topic of the request into one to make.
func (c *createTopicsCall) newTopic(t *kmsg.CreateTopicsRequestTopic, seen *collisions, partitions int32, factor int16) (n meta.NewTopic, why *kafka.Error) {
	n = meta.NewTopic{Name: t.Topic, PartitionCount: t.NumPartitions, ReplicationFactor: t.ReplicationFactor}
	if why = c.checkName(t.Topic, seen); why != nil {
		return n, why
	}
	if n.Configs, why = c.configs(t); why != nil {
		return n, why
	}
	if len(t.ReplicaAssignment) > 0 {
		n.Assignment, why = c.assignment(t)
		return n, why
	}
	if n.PartitionCount == -1 {
		n.PartitionCount = partitions
	}
	if n.ReplicationFactor == -1 {
		n.ReplicationFactor = factor
	}
	return n, nil
}

// checkName says why there can be no new topic of the name.
func (c *createTopicsCall) checkName(name string, seen *collisions) *kafka.Error {
	if why := checkTopicName(name); why != nil {
		return why
	}
	if _, exists := c.img.Topic(name); exists {
		return kafka.ErrTopicAlreadyExists.Err(fmt.Sprintf("Topic '%s' already exists.", name))
	}
	if other := seen.find(name); other != "" {
		return kafka.ErrInvalidTopic.Err(collisionText(name, other))
	}
	return nil
}

// collisionText says that two names are too much alike.
func collisionText(name, other string) string {
	return fmt.Sprintf("Topic '%s' collides with existing topic: %s", name, other)
}

// configs are the topic's own values. Of a name that is there twice the last value
// counts.
func (c *createTopicsCall) configs(t *kmsg.CreateTopicsRequestTopic) (map[string]string, *kafka.Error) {
	if len(t.Configs) == 0 {
		return nil, nil
	}
	values := make(map[string]string, len(t.Configs))
	for _, entry := range t.Configs {
		if entry.Value == nil {
			return nil, kafka.ErrInvalidConfig.Err("Null value not supported for topic configs: " + entry.Name)
		}
		values[entry.Name] = *entry.Value
	}
	return values, c.a.refusal(c.a.deps.Config().CheckTopic(c.img, values))
}

// assignment is the topic's assignment by hand.
func (c *createTopicsCall) assignment(t *kmsg.CreateTopicsRequestTopic) ([][]kafka.BrokerID, *kafka.Error) {
	switch {
	case t.ReplicationFactor != -1:
		return nil, kafka.ErrInvalidRequest.Err("A manual partition assignment was specified, but replication factor was not set to -1.")
	case t.NumPartitions != -1:
		return nil, kafka.ErrInvalidRequest.Err("A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	out := make([][]kafka.BrokerID, len(t.ReplicaAssignment))
	done, gap := map[int32]bool{}, false
	for _, p := range t.ReplicaAssignment {
		if done[p.Partition] {
			return nil, kafka.ErrInvalidReplicaAssignment.Err(fmt.Sprintf("Found multiple manual partition assignments for partition %d", p.Partition))
		}
		done[p.Partition] = true
		if p.Partition < 0 || int(p.Partition) >= len(out) {
			gap = true
			continue
		}
		out[p.Partition] = brokerIDs(p.Replicas)
	}
	if gap {
		return nil, kafka.ErrInvalidReplicaAssignment.Err("partitions should be a consecutive 0-based integer sequence")
	}
	return out, nil
}

// brokerIDs are numbers as broker ids, never nil.
func brokerIDs(numbers []int32) []kafka.BrokerID {
	out := make([]kafka.BrokerID, len(numbers))
	for i, n := range numbers {
		out[i] = kafka.BrokerID(n)
	}
	return out
}

// refuseAll answers every topic of the request with one error.
func (c *createTopicsCall) refuseAll(why *kafka.Error) {
	for i := range c.q.Topics {
		c.fail(c.q.Topics[i].Topic, why)
	}
}

// fail answers one topic with an error.
func (c *createTopicsCall) fail(name string, why *kafka.Error) {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, c.a.code(c.r, why), ownText(why)
	t.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	c.resp.Topics = append(c.resp.Topics, t)
}

// made answers one topic that was made, or could be.
func (c *createTopicsCall) made(asked *kmsg.CreateTopicsRequestTopic, made *meta.Topic, own map[string]string) {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.TopicID = asked.Topic, made.ID
	if made.ID == kafka.NoTopicID { // only validated: Kafka makes an id up, too
		t.TopicID = kafka.NewTopicID()
	}
	if c.q.Version >= 5 && !c.a.authorize(c.r, OpDescribeConfigs, ResourceTopic, asked.Topic) {
		t.ConfigErrorCode = int16(kafka.ErrTopicAuthorizationFailed)
		t.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	} else if c.q.Version >= 5 {
		t.NumPartitions = int32(len(made.Partitions))
		t.ReplicationFactor = int16(len(made.Partitions[0].Replicas))
		t.Configs = c.describe(own)
	}
	c.resp.Topics = append(c.resp.Topics, t)
}

// describe lists the configs of a new topic. Its own values are shown as they were
// given.
func (c *createTopicsCall) describe(own map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	entries := c.a.deps.Config().DescribeTopic(c.img, own)
	out := make([]kmsg.CreateTopicsResponseTopicConfig, len(entries))
	for i, e := range entries {
		out[i] = kmsg.CreateTopicsResponseTopicConfig{Name: e.Name, Value: e.Value, ReadOnly: e.ReadOnly, Source: int8(e.Source), IsSensitive: e.Sensitive}
		if given, set := own[e.Name]; set {
			out[i].Value = &given
		}
	}
	return out
}
