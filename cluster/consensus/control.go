package consensus

import (
	"context"
	"math/rand/v2"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// producerIDBlock is how many producer ids a broker gets at a time, as in Kafka.
const producerIDBlock = 1000

// Image implements meta.Control.
func (g *Group) Image() *meta.Image { return g.machine.images.Image() }

// Watch implements meta.Control.
func (g *Group) Watch(f func(*meta.Image)) (stop func()) { return g.machine.images.Watch(f) }

// ask has a command decided, or with validateOnly says what would be decided on
// the present image.
func (g *Group) ask(ctx context.Context, c metadata.Command, validateOnly bool) (metadata.Result, error) {
	if !validateOnly {
		return g.propose(ctx, c)
	}
	if err := g.Ready(ctx); err != nil {
		return metadata.Result{}, err
	}
	image := g.Image()
	_, r := metadata.Apply(image, image.Index+1, c)
	return r, nil
}

// CreateTopics implements meta.Control: one command, however many topics.
func (g *Group) CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error) {
	c := &metadata.CreateTopics{Seed: rand.Uint64()}
	for _, t := range topics {
		c.Topics = append(c.Topics, metadata.NewTopic{Name: t.Name, ID: kafka.NewTopicID(),
			PartitionCount: t.PartitionCount, ReplicationFactor: t.ReplicationFactor,
			Assignment: t.Assignment, Configs: t.Configs})
	}
	r, err := g.ask(ctx, c, validateOnly)
	if err != nil {
		return nil, err
	}
	if validateOnly {
		for _, result := range r.Topics {
			if result.Topic != nil {
				result.Topic.ID = kafka.NoTopicID // nobody else has seen this topic
			}
		}
	}
	return r.Topics, nil
}

// DeleteTopics implements meta.Control.
func (g *Group) DeleteTopics(ctx context.Context, ids []kafka.TopicID) ([]*kafka.Error, error) {
	r, err := g.propose(ctx, &metadata.DeleteTopics{IDs: ids})
	return r.Errors, err
}

// CreatePartitions implements meta.Control.
func (g *Group) CreatePartitions(ctx context.Context, topics []meta.NewPartitions, validateOnly bool) ([]*kafka.Error, error) {
	c := &metadata.CreatePartitions{Seed: rand.Uint64()}
	for _, t := range topics {
		c.Topics = append(c.Topics, metadata.NewPartitions(t))
	}
	r, err := g.ask(ctx, c, validateOnly)
	return r.Errors, err
}

// AlterConfigs implements meta.Control.
func (g *Group) AlterConfigs(ctx context.Context, changes []meta.ConfigChange, validateOnly bool) ([]*kafka.Error, error) {
	c := &metadata.AlterConfigs{}
	for _, change := range changes {
		c.Changes = append(c.Changes, metadata.ConfigChange{Type: change.Resource.Type, Name: change.Resource.Name,
			Previous: change.Previous, Values: change.Values})
	}
	r, err := g.ask(ctx, c, validateOnly)
	return r.Errors, err
}

// UpdateFeatures implements meta.Control: all or nothing.
func (g *Group) UpdateFeatures(ctx context.Context, updates []meta.FeatureUpdate, validateOnly bool) ([]*kafka.Error, error) {
	c := &metadata.UpdateFeatures{Decider: g.options.NodeID}
	for _, u := range updates {
		c.Updates = append(c.Updates, metadata.FeatureUpdate(u))
	}
	r, err := g.ask(ctx, c, validateOnly)
	return r.Errors, err
}

// CreateACLs implements meta.Control: one command, all or none.
func (g *Group) CreateACLs(ctx context.Context, rules []auth.Rule) error {
	c := &metadata.CreateACLs{}
	for _, r := range rules {
		c.Rules = append(c.Rules, metadata.ACL(r))
	}
	_, err := g.propose(ctx, c)
	return err
}

// DeleteACLs implements meta.Control.
func (g *Group) DeleteACLs(ctx context.Context, filters []meta.ACLFilter) ([]meta.ACLDeletion, error) {
	c := &metadata.DeleteACLs{}
	for _, f := range filters {
		c.Filters = append(c.Filters, metadata.ACLFilter(f))
	}
	r, err := g.propose(ctx, c)
	return r.ACLs, err
}

// AlterPlugins implements meta.Control.
func (g *Group) AlterPlugins(ctx context.Context, changes []meta.PluginChange) ([]*kafka.Error, error) {
	c := &metadata.AlterPlugins{}
	for _, change := range changes {
		c.Changes = append(c.Changes, metadata.PluginChange(change))
	}
	r, err := g.propose(ctx, c)
	return r.Errors, err
}

// AllocateProducerIDs implements meta.Control.
func (g *Group) AllocateProducerIDs(ctx context.Context) (meta.ProducerIDBlock, error) {
	r, err := g.propose(ctx, &metadata.AllocateProducerIDs{Count: producerIDBlock})
	return r.Block, err
}

// AlterISR implements meta.Control: one command, however many partitions.
func (g *Group) AlterISR(ctx context.Context, from kafka.BrokerID, epoch kafka.BrokerEpoch, changes []meta.ISRChange) ([]meta.ISRResult, error) {
	r, err := g.propose(ctx, metadata.NewAlterISR(from, epoch, changes))
	return r.ISR, refusal(r, err)
}

// ElectLeaders implements meta.Control.
func (g *Group) ElectLeaders(ctx context.Context, kind meta.ElectionKind, partitions []meta.PartitionID) ([]*kafka.Error, error) {
	r, err := g.propose(ctx, metadata.NewElectLeaders(kind, partitions))
	return r.Errors, err
}

// AlterReassignments implements meta.Control.
func (g *Group) AlterReassignments(ctx context.Context, changes []meta.Reassignment) ([]*kafka.Error, error) {
	r, err := g.propose(ctx, metadata.NewAlterReassignments(changes))
	return r.Errors, err
}

// UnregisterBroker implements meta.Control.
func (g *Group) UnregisterBroker(ctx context.Context, id kafka.BrokerID) error {
	r, err := g.propose(ctx, &metadata.UnregisterBroker{ID: id})
	return refusal(r, err)
}

// refusal is the error of a command that was decided as a whole.
func refusal(r metadata.Result, err error) error {
	if err == nil && r.Err != nil {
		return r.Err
	}
	return err
}

var (
	_ meta.Control   = (*Group)(nil)
	_ meta.Registrar = (*Group)(nil)
)
