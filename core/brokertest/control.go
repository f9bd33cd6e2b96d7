package brokertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Control decides in memory, at once and alone. It refuses what a real decider
// refuses, in the same words, because both ask meta.Image; where there is a
// choice it takes the simplest: replicas are the lowest broker ids. It outlives
// the brokers of a test, as the cluster outlives a broker. It is safe for
// concurrent use.
type Control struct {
	images *meta.Publisher
	mu     sync.Mutex // one decision at a time
}

// NewControl makes the control plane of a new cluster.
func NewControl(clusterID string) *Control {
	e := meta.Empty(clusterID).Edit(1)
	for _, f := range meta.SupportedFeatures() {
		e.SetFeature(f.Name, f.Initial)
	}
	return &Control{images: meta.NewPublisher(e.Image())}
}

// Image implements meta.Control.
func (c *Control) Image() *meta.Image { return c.images.Image() }

// Refresh implements meta.Control. There is no other broker to hear from.
func (c *Control) Refresh(context.Context) error { return nil }

// Watch implements meta.Control.
func (c *Control) Watch(f func(*meta.Image)) (stop func()) { return c.images.Watch(f) }

// decide runs one decision: change says what to do to the present image; the
// outcome is published unless it is only validated.
func (c *Control) decide(validateOnly bool, change func(now *meta.Image, e *meta.Edit)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.images.Image()
	e := now.Edit(now.Index + 1)
	change(now, e)
	if !validateOnly {
		c.images.Publish(e.Image())
	}
}

// CreateTopics implements meta.Control.
func (c *Control) CreateTopics(_ context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error) {
	results := make([]meta.TopicResult, len(topics))
	c.decide(validateOnly, func(now *meta.Image, e *meta.Edit) {
		for n := range topics {
			results[n] = createTopic(now, e, &topics[n], validateOnly)
		}
	})
	return results, nil
}

// createTopic makes one topic.
func createTopic(now *meta.Image, e *meta.Edit, t *meta.NewTopic, validateOnly bool) meta.TopicResult {
	if err := now.CheckNewTopic(t); err != nil {
		return meta.TopicResult{Err: err}
	}
	if _, again := e.Topic(t.Name); again {
		return meta.TopicResult{Err: kafka.ErrTopicAlreadyExists.Err(fmt.Sprintf("Topic '%s' already exists.", t.Name))}
	}
	assignment := t.Assignment
	if assignment == nil {
		assignment = slices.Repeat([][]kafka.BrokerID{lowest(now, int(t.ReplicationFactor))}, int(t.PartitionCount))
	}
	topic := &meta.Topic{Name: t.Name}
	if !validateOnly {
		topic.ID = kafka.NewTopicID()
	}
	for _, replicas := range assignment {
		topic.Partitions = append(topic.Partitions, now.NewPartition(replicas))
	}
	e.PutTopic(topic)
	e.SetConfig(meta.Resource{Type: meta.ResourceTopic, Name: t.Name}, maps.Clone(t.Configs))
	return meta.TopicResult{Topic: topic}
}

// lowest are the n lowest ids of brokers, of those that are active first.
func lowest(i *meta.Image, n int) []kafka.BrokerID {
	brokers := slices.SortedFunc(i.Brokers(), func(a, b *meta.Broker) int {
		switch {
		case a.Active() == b.Active():
			return cmp.Compare(a.ID, b.ID)
		case a.Active():
			return -1
		}
		return 1
	})
	ids := make([]kafka.BrokerID, n)
	for k := range ids {
		ids[k] = brokers[k].ID
	}
	return ids
}

// DeleteTopics implements meta.Control.
func (c *Control) DeleteTopics(_ context.Context, ids []kafka.TopicID) ([]*kafka.Error, error) {
	errs := make([]*kafka.Error, len(ids))
	c.decide(false, func(now *meta.Image, e *meta.Edit) {
		for n, id := range ids {
			t, ok := now.TopicByID(id)
			if ok {
				_, ok = e.Topic(t.Name)
			}
			if !ok {
				errs[n] = kafka.ErrUnknownTopicID.Err("")
				continue
			}
			e.RemoveTopic(t.Name)
		}
	})
	return errs, nil
}

// CreatePartitions implements meta.Control.
func (c *Control) CreatePartitions(_ context.Context, topics []meta.NewPartitions, validateOnly bool) ([]*kafka.Error, error) {
	errs, grown := make([]*kafka.Error, len(topics)), map[string]bool{}
	c.decide(validateOnly, func(now *meta.Image, e *meta.Edit) {
		for n := range topics {
			asked := &topics[n]
			if errs[n] = now.CheckNewPartitions(asked); errs[n] != nil {
				continue
			}
			if grown[asked.Topic] {
				errs[n] = kafka.ErrInvalidRequest.Err("Duplicate topic name.")
				continue
			}
			grown[asked.Topic] = true
			old, _ := now.Topic(asked.Topic)
			next := &meta.Topic{Name: old.Name, ID: old.ID, Partitions: slices.Clone(old.Partitions)}
			for len(next.Partitions) < int(asked.Count) {
				replicas := lowest(now, len(old.Partitions[0].Replicas))
				if asked.Assignment != nil {
					replicas = asked.Assignment[len(next.Partitions)-len(old.Partitions)]
				}
				next.Partitions = append(next.Partitions, now.NewPartition(replicas))
			}
			e.PutTopic(next)
		}
	})
	return errs, nil
}

// AlterConfigs implements meta.Control.
func (c *Control) AlterConfigs(_ context.Context, changes []meta.ConfigChange, validateOnly bool) ([]*kafka.Error, error) {
	errs := make([]*kafka.Error, len(changes))
	c.decide(validateOnly, func(now *meta.Image, e *meta.Edit) {
		d := now.Draft()
		for n, change := range changes {
			_, exists := now.Topic(change.Resource.Name)
			switch {
			case change.Resource.Type == meta.ResourceTopic && !exists:
				errs[n] = kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("The topic '%s' does not exist.", change.Resource.Name))
			case slices.ContainsFunc(changes[:n], func(c meta.ConfigChange) bool { return c.Resource == change.Resource }),
				!maps.Equal(now.Config(change.Resource), change.Previous):
				errs[n] = kafka.ErrRequestTimedOut.Err("The config was changed at the same time by another request.")
			default:
				d.Configure(change.Resource, maps.Clone(change.Values))
			}
		}
		d.Put(e)
	})
	return errs, nil
}

// UpdateFeatures implements meta.Control.
func (c *Control) UpdateFeatures(_ context.Context, updates []meta.FeatureUpdate, validateOnly bool) ([]*kafka.Error, error) {
	errs := make([]*kafka.Error, len(updates))
	c.decide(validateOnly, func(now *meta.Image, e *meta.Edit) {
		for n := range updates {
			if err := now.CheckFeatureUpdate(&updates[n], self); err != nil {
				errs = slices.Repeat([]*kafka.Error{err}, len(updates))
				return
			}
		}
		for _, u := range updates {
			e.SetFeature(u.Name, u.Level)
		}
	})
	return errs, nil
}

// CreateACLs implements meta.Control.
func (c *Control) CreateACLs(_ context.Context, rules []auth.Rule) error {
	c.decide(false, func(_ *meta.Image, e *meta.Edit) {
		for _, r := range rules {
			e.PutACL(r)
		}
	})
	return nil
}

// DeleteACLs implements meta.Control.
func (c *Control) DeleteACLs(_ context.Context, filters []meta.ACLFilter) ([]meta.ACLDeletion, error) {
	gone := make([]meta.ACLDeletion, len(filters))
	c.decide(false, func(now *meta.Image, e *meta.Edit) {
		for n := range filters {
			gone[n].Rules = now.MatchingACLs(&filters[n])
			for i := range gone[n].Rules {
				e.RemoveACL(&gone[n].Rules[i])
			}
		}
	})
	return gone, nil
}

// AlterPlugins implements meta.Control.
func (c *Control) AlterPlugins(_ context.Context, changes []meta.PluginChange) ([]*kafka.Error, error) {
	errs := make([]*kafka.Error, len(changes))
	c.decide(false, func(now *meta.Image, e *meta.Edit) {
		seen := map[string]bool{}
		for n := range changes {
			if errs[n] = now.CheckPluginChange(&changes[n], seen); errs[n] == nil {
				e.AlterPlugin(&changes[n])
			}
		}
	})
	return errs, nil
}

// AllocateProducerIDs implements meta.Control.
func (c *Control) AllocateProducerIDs(context.Context) (meta.ProducerIDBlock, error) {
	const count = 1000
	block := meta.ProducerIDBlock{Count: count}
	c.decide(false, func(now *meta.Image, e *meta.Edit) {
		block.First = now.NextProducerID
		e.SetNextProducerID(block.First + count)
	})
	return block, nil
}

// RegisterBroker implements meta.Registrar.
func (c *Control) RegisterBroker(_ context.Context, r meta.Registration) (kafka.BrokerEpoch, error) {
	var epoch kafka.BrokerEpoch
	c.decide(false, func(now *meta.Image, e *meta.Edit) {
		epoch = kafka.BrokerEpoch(now.Index + 1)
		now.Register(e, &r, epoch)
	})
	return epoch, nil
}

// Quorum implements meta.Control.
func (c *Control) Quorum() meta.Quorum {
	now, index := time.Now(), int64(c.Image().Index)
	return meta.Quorum{Leader: self, LeaderEpoch: 1, HighWatermark: index,
		Voters: []meta.QuorumReplica{{ID: self, LogEndOffset: index, LastFetch: now, LastCaughtUp: now}}}
}

var (
	_ meta.Control   = (*Control)(nil)
	_ meta.Registrar = (*Control)(nil)
)
