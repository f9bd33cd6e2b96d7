package clustertest

import (
	"maps"
	"strconv"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// propose sends an admin's request; nobody waits for the outcome.
func (f *faults) propose(c metadata.Command) {
	f.w.control.propose(adminHost, c, func(metadata.Result, int, bool) {})
}

// topic makes, deletes or grows a topic.
func (f *faults) topic(*node, time.Duration) {
	t, ok := f.w.topics.any()
	switch {
	case !ok || f.w.chance(3):
		f.w.topics.temporary()
	case t.Name[0] == 't':
		f.propose(&metadata.DeleteTopics{IDs: []kafka.TopicID{t.ID}})
	default:
		f.propose(&metadata.CreatePartitions{Seed: f.w.rand.Uint64(), Topics: []metadata.NewPartitions{{Topic: t.Name, Count: int32(len(t.Partitions) + 1)}}})
	}
}

// reassign moves a partition to other replicas, or gives a move up; not while a node
// that lost records may be the only one in sync that would be left.
func (f *faults) reassign(*node, time.Duration) {
	t, ok := f.w.topics.any()
	if !ok || f.losing() {
		return
	}
	n := f.w.rand.IntN(len(t.Partitions))
	p := &t.Partitions[n]
	var replicas []kafka.BrokerID // none: the move is given up
	if !p.Reassigning() || !f.w.chance(3) {
		others := f.staying()
		for _, i := range f.w.rand.Perm(len(others))[:min(len(others), len(p.Replicas)-len(p.Adding))] {
			replicas = append(replicas, others[i].id)
		}
	}
	f.w.note("reassign %s-%d: %v", t.Name, n, replicas)
	f.assign(meta.PartitionID{Topic: t.ID, Partition: int32(n)}, replicas)
}

// elect holds elections of preferred leaders, or unclean ones where those are allowed.
func (f *faults) elect(*node, time.Duration) {
	if t, ok := f.w.control.latest().Topic("loose"); ok && f.w.chance(2) {
		f.propose(&metadata.ElectLeaders{Kind: meta.Unclean, Partitions: []metadata.PartitionID{{Topic: t.ID}}})
		return
	}
	f.propose(&metadata.ElectLeaders{Kind: meta.Preferred, All: true})
}

// giveUp has anybody be elected where all who were in sync have lost what they had, as
// the contract lets them, or had nothing: a topic may be made while the only one of its
// replicas that seems to be in service has lost its disk.
func (f *faults) giveUp() {
	f.partitions(func(id meta.PartitionID, p *meta.Partition) {
		c := f.w.history.of(id)
		if p.Leader == kafka.NoBroker && len(p.ISR)+len(p.ELR) == 0 && (c.loose || c.end == 0) {
			f.propose(&metadata.ElectLeaders{Kind: meta.Unclean, Partitions: []metadata.PartitionID{metadata.PartitionID(id)}})
		}
	})
}

// configure changes min.insync.replicas of a topic that may have any.
func (f *faults) configure(*node, time.Duration) {
	t, ok := f.w.control.latest().Topic("single")
	if !ok {
		return
	}
	r := meta.Resource{Type: meta.ResourceTopic, Name: t.Name}
	before := f.w.control.latest().Config(r)
	after := maps.Clone(before)
	after[meta.MinISRConfig] = strconv.Itoa(1 + f.w.rand.IntN(2))
	f.propose(&metadata.AlterConfigs{Changes: []metadata.ConfigChange{{Type: r.Type, Name: r.Name, Previous: before, Values: after}}})
}
