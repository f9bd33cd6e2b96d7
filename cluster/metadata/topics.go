package metadata

import (
	"slices"

	"github.com/mortisemq/mortise/cluster/placement"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

func (m *machine) createTopics(c *CreateTopics) []meta.TopicResult {
	results := make([]meta.TopicResult, len(c.Topics))
	made, used := map[string]bool{}, map[kafka.TopicID]bool{}
	var placer *placement.Placer
	for n := range c.Topics {
		t := &c.Topics[n]
		asked := meta.NewTopic{Name: t.Name, PartitionCount: t.PartitionCount,
			ReplicationFactor: t.ReplicationFactor, Assignment: t.Assignment}
		if err := m.old.CheckNewTopic(&asked); err != nil {
			results[n].Err = err
			continue
		}
		if made[t.Name] {
			results[n].Err = kafka.ErrTopicAlreadyExists.Err("Topic '" + t.Name + "' already exists.")
			continue
		}
		if _, taken := m.old.TopicByID(t.ID); taken || used[t.ID] {
			results[n].Err = kafka.ErrUnknownServerError.Err("The id " + t.ID.String() + " belongs to another topic.")
			continue
		}
		made[t.Name], used[t.ID] = true, true
		assignment := t.Assignment
		if assignment == nil {
			if placer == nil {
				placer = m.placer(c.Seed, nil)
			}
			assignment = place(placer, int(t.PartitionCount), int(t.ReplicationFactor))
		}
		topic := &meta.Topic{Name: t.Name, ID: t.ID, Partitions: m.partitions(nil, assignment)}
		m.edit().PutTopic(topic)
		m.edit().SetConfig(meta.Resource{Type: meta.ResourceTopic, Name: t.Name}, t.Configs)
		results[n].Topic = topic
	}
	return results
}

func (m *machine) createPartitions(c *CreatePartitions) []*kafka.Error {
	errs := make([]*kafka.Error, len(c.Topics))
	grown := map[string]bool{}
	for n := range c.Topics {
		g := &c.Topics[n]
		asked := meta.NewPartitions{Topic: g.Topic, Count: g.Count, Assignment: g.Assignment}
		if errs[n] = m.old.CheckNewPartitions(&asked); errs[n] != nil {
			continue
		}
		if grown[g.Topic] {
			errs[n] = kafka.ErrInvalidRequest.Err("Duplicate topic name.")
			continue
		}
		grown[g.Topic] = true
		old, _ := m.old.Topic(g.Topic)
		assignment := g.Assignment
		if assignment == nil {
			last := old.Partitions[len(old.Partitions)-1].Replicas
			assignment = place(m.placer(c.Seed, last), int(g.Count)-len(old.Partitions), len(old.Partitions[0].Replicas))
		}
		m.edit().PutTopic(&meta.Topic{Name: old.Name, ID: old.ID, Partitions: m.partitions(old.Partitions, assignment)})
	}
	return errs
}

func (m *machine) deleteTopics(c *DeleteTopics) []*kafka.Error {
	errs := make([]*kafka.Error, len(c.IDs))
	for n, id := range c.IDs {
		t, exists := m.old.TopicByID(id)
		if exists {
			_, exists = m.topic(t.Name) // it may be in the command twice
		}
		if !exists {
			errs[n] = kafka.ErrUnknownTopicID.Err("")
			continue
		}
		m.edit().RemoveTopic(t.Name)
	}
	return errs
}

// placer makes a placer for the registered brokers. One that wants to stop counts as fenced:
// it is taken last and does not lead. So does one that has no room, while another has.
func (m *machine) placer(seed uint64, last []kafka.BrokerID) *placement.Placer {
	room := false
	for b := range m.old.Brokers() {
		room = room || b.Active() && !b.Full
	}
	var brokers []placement.Broker
	for b := range m.old.Brokers() {
		brokers = append(brokers, placement.Broker{ID: b.ID, Rack: b.Rack, Fenced: !b.Active() || b.Full && room})
	}
	return placement.New(brokers, seed, last)
}

// place finds replicas for n partitions.
func place(p *placement.Placer, n, factor int) [][]kafka.BrokerID {
	assignment := make([][]kafka.BrokerID, n)
	for i := range assignment {
		assignment[i] = p.Next(factor)
	}
	return assignment
}

// partitions are the old ones and new ones on the replicas of assignment.
func (m *machine) partitions(old []meta.Partition, assignment [][]kafka.BrokerID) []meta.Partition {
	all := slices.Grow(slices.Clone(old), len(assignment))
	for _, replicas := range assignment {
		all = append(all, m.old.NewPartition(replicas))
	}
	return all
}
