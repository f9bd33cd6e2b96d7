package metadata

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Result is what a command has to say to the one who asked. The field of its
// kind is set.
type Result struct {
	Topics      []meta.TopicResult   // CreateTopics, in the order asked
	Errors      []*kafka.Error       // of the others with several parts; nil: done
	Block       meta.ProducerIDBlock // AllocateProducerIDs
	ACLs        []meta.ACLDeletion   // DeleteACLs, in the order asked
	BrokerEpoch kafka.BrokerEpoch    // RegisterBroker
	ISR         []meta.ISRResult     // AlterISR, in the order asked
	Err         *kafka.Error         // why the command as a whole was refused; nil: it was not
}

// Apply makes the image after the command with the index. It neither changes
// old nor keeps anything of c that c's owner could change, except the maps and
// slices of new topics and configs, which must not be changed any more. When
// the command changes nothing the image is old itself.
func Apply(old *meta.Image, index uint64, c Command) (*meta.Image, Result) {
	m := machine{old: old, index: index}
	var r Result
	switch c := c.(type) {
	case *Bootstrap:
		m.bootstrap(c)
	case *RegisterBroker:
		r.BrokerEpoch = m.registerBroker(c)
	case *CreateTopics:
		r.Topics = m.createTopics(c)
	case *DeleteTopics:
		r.Errors = m.deleteTopics(c)
	case *CreatePartitions:
		r.Errors = m.createPartitions(c)
	case *AlterConfigs:
		r.Errors = m.alterConfigs(c)
	case *UpdateFeatures:
		r.Errors = m.updateFeatures(c)
	case *AllocateProducerIDs:
		r.Block = m.allocateProducerIDs(c)
	case *CreateACLs:
		m.createACLs(c)
	case *DeleteACLs:
		r.ACLs = m.deleteACLs(c)
	case *AlterPlugins:
		r.Errors = m.alterPlugins(c)
	case *AlterISR:
		r.ISR, r.Err = m.alterISR(c)
	case *FenceBroker:
		r.Err = m.fenceBroker(c)
	case *UnfenceBroker:
		r.Err = m.unfenceBroker(c)
	case *BeginShutdown:
		r.Err = m.beginShutdown(c)
	case *ElectLeaders:
		r.Errors = m.electLeaders(c)
	case *AlterReassignments:
		r.Errors = m.alterReassignments(c)
	case *SetFull:
		r.Err = m.setFull(c)
	case *UnregisterBroker:
		r.Err = m.unregisterBroker(c)
	default:
		panic(fmt.Sprintf("BUG: command of type %T", c))
	}
	return m.image(), r
}

// machine applies one command.
type machine struct {
	old   *meta.Image
	index uint64
	open  *meta.Edit // nil until the first change
}

// edit is the change in progress.
func (m *machine) edit() *meta.Edit {
	if m.open == nil {
		m.open = m.old.Edit(m.index)
	}
	return m.open
}

// image is the outcome.
func (m *machine) image() *meta.Image {
	if m.open == nil {
		return m.old
	}
	return m.open.Image()
}

// topic is a topic as it is after what the command has done so far.
func (m *machine) topic(name string) (*meta.Topic, bool) {
	if m.open != nil {
		return m.open.Topic(name)
	}
	return m.old.Topic(name)
}

func (m *machine) bootstrap(c *Bootstrap) {
	if m.old.ClusterID != "" {
		return
	}
	m.edit().SetClusterID(c.ClusterID, c.Founding)
	for name, level := range c.Features {
		m.edit().SetFeature(name, level)
	}
}

func (m *machine) alterConfigs(c *AlterConfigs) []*kafka.Error {
	errs := make([]*kafka.Error, len(c.Changes))
	d := m.old.Draft()
	for n, change := range c.Changes {
		r := meta.Resource{Type: change.Type, Name: change.Name}
		if _, exists := m.topic(r.Name); r.Type == meta.ResourceTopic && !exists {
			errs[n] = kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("The topic '%s' does not exist.", r.Name))
			continue
		}
		// Two changes of one resource in one command: the second has not seen the
		// first, so it fails here like any other change that came too late.
		if slices.ContainsFunc(c.Changes[:n], func(e ConfigChange) bool { return e.Type == r.Type && e.Name == r.Name }) ||
			!maps.Equal(m.old.Config(r), change.Previous) {
			errs[n] = errConfigChanged()
			continue
		}
		d.Configure(r, change.Values)
	}
	if d.Changed() {
		d.Put(m.edit())
	}
	return errs
}

// errConfigChanged tells a caller to look again and retry.
func errConfigChanged() *kafka.Error {
	return kafka.ErrRequestTimedOut.Err("The config was changed at the same time by another request.")
}

func (m *machine) updateFeatures(c *UpdateFeatures) []*kafka.Error {
	errs := make([]*kafka.Error, len(c.Updates))
	for _, u := range c.Updates {
		if err := m.old.CheckFeatureUpdate(&meta.FeatureUpdate{Name: u.Name, Level: u.Level, Downgrade: u.Downgrade}, c.Decider); err != nil {
			for n := range errs {
				errs[n] = err
			}
			return errs
		}
	}
	for _, u := range c.Updates {
		if m.old.Features()[u.Name] != u.Level {
			m.edit().SetFeature(u.Name, u.Level)
		}
	}
	return errs
}

func (m *machine) allocateProducerIDs(c *AllocateProducerIDs) meta.ProducerIDBlock {
	first := m.old.NextProducerID
	m.edit().SetNextProducerID(first + kafka.ProducerID(c.Count))
	return meta.ProducerIDBlock{First: first, Count: c.Count}
}
