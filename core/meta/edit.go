package meta

import (
	"maps"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Edit collects changes to an image and makes the next one. The parts that do
// not change are shared: an edit costs what it touches, not what there is (brokers
// and features are few and copied as a whole). An Edit belongs to one goroutine.
type Edit struct {
	next     Image
	topics   *iradix.Txn[*Topic]
	topicIDs *iradix.Txn[*Topic]
	configs  *iradix.Txn[resourceConfig]
	acls     *iradix.Txn[auth.Rule]
	plugins  *iradix.Txn[*PluginEntry]

	brokersOwned, featuresOwned bool

	holdings map[kafka.BrokerID]*holdingsEdit // of the brokers for which they change
	touched  []kafka.TopicID                  // what the step of the edit is to say
}

// Edit starts the change numbered index, which must be greater than i.Index.
func (i *Image) Edit(index uint64) *Edit {
	if index <= i.Index {
		panic("BUG: an image's index must grow")
	}
	e := &Edit{next: *i, topics: i.topics.Txn(), topicIDs: i.topicIDs.Txn(), configs: i.configs.Txn(), acls: i.acls.Txn(), plugins: i.plugins.Txn()}
	e.next.Index = index
	return e
}

// Image is the next image. The Edit must not be used after it.
func (e *Edit) Image() *Image {
	e.next.topics, e.next.topicIDs, e.next.configs = e.topics.Commit(), e.topicIDs.Commit(), e.configs.Commit()
	e.next.acls, e.next.plugins = e.acls.Commit(), e.plugins.Commit()
	e.putHoldings()
	e.next.history = e.next.history.after(e.touched)
	next := e.next
	return &next
}

// SetClusterID names the cluster.
func (e *Edit) SetClusterID(id, founding string) { e.next.ClusterID, e.next.Founding = id, founding }

// PutTopic adds a topic or replaces the one with the same name. The edit keeps t.
func (e *Edit) PutTopic(t *Topic) {
	var was []Partition
	if old, ok := e.topics.Insert([]byte(t.Name), t); ok {
		if old.ID == t.ID {
			was = old.Partitions
			e.next.totals.count(old, -1)
		} else {
			e.gone(old)
		}
	}
	e.topicIDs.Insert(t.ID[:], t)
	e.next.totals.count(t, 1)
	e.hold(t.ID, was, t.Partitions)
	e.touched = append(e.touched, t.ID)
}

// gone forgets what belongs to a topic under its id.
func (e *Edit) gone(t *Topic) {
	e.topicIDs.Delete(t.ID[:])
	e.next.totals.count(t, -1)
	e.hold(t.ID, t.Partitions, nil)
	e.touched = append(e.touched, t.ID)
}

// Topic finds a topic as the edit has it so far.
func (e *Edit) Topic(name string) (*Topic, bool) { return e.topics.Get([]byte(name)) }

// RemoveTopic takes a topic and its config away.
func (e *Edit) RemoveTopic(name string) {
	if old, ok := e.topics.Delete([]byte(name)); ok {
		e.gone(old)
	}
	e.SetConfig(Resource{ResourceTopic, name}, nil)
}

// PutBroker registers a broker or replaces its registration. The edit keeps b.
func (e *Edit) PutBroker(b *Broker) {
	if !e.brokersOwned {
		e.next.brokers, e.brokersOwned = maps.Clone(e.next.brokers), true
	}
	e.next.brokers[b.ID] = b
}

// RemoveBroker forgets a broker.
func (e *Edit) RemoveBroker(id kafka.BrokerID) {
	if !e.brokersOwned {
		e.next.brokers, e.brokersOwned = maps.Clone(e.next.brokers), true
	}
	delete(e.next.brokers, id)
}

// SetConfig replaces the dynamic config of a resource; an empty one removes it.
// The edit keeps the map.
func (e *Edit) SetConfig(r Resource, config map[string]string) {
	if r.Type == ResourceTopic {
		if t, ok := e.topics.Get([]byte(r.Name)); ok {
			e.touched = append(e.touched, t.ID)
		}
	}
	if len(config) == 0 {
		e.configs.Delete(r.key(nil))
		return
	}
	e.configs.Insert(r.key(nil), resourceConfig{r, config})
}

// SetFeature finalizes a feature at a level; level 0 removes it.
func (e *Edit) SetFeature(name string, level int16) {
	if !e.featuresOwned {
		e.next.features, e.featuresOwned = maps.Clone(e.next.features), true
	}
	if level == 0 {
		delete(e.next.features, name)
		return
	}
	e.next.features[name] = level
}

// SetNextProducerID moves the first free producer id.
func (e *Edit) SetNextProducerID(id kafka.ProducerID) { e.next.NextProducerID = id }
