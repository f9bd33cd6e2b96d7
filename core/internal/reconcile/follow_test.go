package reconcile

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// fetchers note what they are told.
type fetchers struct{ told []string }

func (f *fetchers) Follow(p *partition.Partition, leader kafka.BrokerID, epoch kafka.LeaderEpoch) {
	if role := p.Role(); role.Leading || role.Epoch != epoch {
		panic("followed before it has the role")
	}
	f.told = append(f.told, fmt.Sprintf("%s from %d in epoch %d", p.TopicPartition(), leader, epoch))
}

func (f *fetchers) Unfollow(p *partition.Partition) {
	f.told = append(f.told, p.TopicPartition().String()+" no more")
}

// TestFollowersAreTold what changes for them, and nothing else.
func TestFollowersAreTold(t *testing.T) {
	b := newBroker(t)
	f := &fetchers{}
	b.followers = f
	id := kafka.NewTopicID()
	put := func(p ...meta.Partition) {
		b.change(func(e *meta.Edit) { e.PutTopic(&meta.Topic{Name: "t", ID: id, Partitions: p}) })
	}
	replicas := []kafka.BrokerID{2, self, 3}
	p := meta.Partition{Replicas: replicas, ISR: replicas, Leader: 2, LeaderEpoch: 5}
	other := meta.Partition{Replicas: []kafka.BrokerID{2, 3}, ISR: []kafka.BrokerID{2, 3}, Leader: 2}
	put(p, other)
	b.start()
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(f.told, want) {
			t.Errorf("%s: told %q, want %q", what, f.told, want)
		}
		f.told = nil
	}
	expect("a follower starts", "t-0 from 2 in epoch 5")

	p.ISR, p.PartitionEpoch = []kafka.BrokerID{2, self}, 1
	put(p, other)
	expect("the in-sync replicas change")

	p.Leader, p.LeaderEpoch, p.PartitionEpoch = 3, 6, 2
	put(p, other)
	expect("another leader", "t-0 from 3 in epoch 6")

	p.Leader, p.LeaderEpoch, p.PartitionEpoch = self, 7, 3
	put(p, other)
	expect("it leads", "t-0 no more")
	if here, _ := b.roles.ByName("t", 0); !here.Role().Leading || len(here.Role().Replicas) != 3 || len(here.Role().ISR) != 2 {
		t.Errorf("role %+v", here.Role())
	}

	p.Leader, p.LeaderEpoch, p.PartitionEpoch = kafka.NoBroker, 8, 4
	put(p, other)
	expect("nobody leads", "t-0 no more")

	p.Leader, p.LeaderEpoch, p.PartitionEpoch = 2, 9, 5
	put(p, other)
	expect("it follows again", "t-0 from 2 in epoch 9")

	put(other, other)
	expect("it is moved away", "t-0 no more")
	b.stop(true)
}

// TestEligible is who may be in sync by the newest image.
func TestEligible(t *testing.T) {
	b := newBroker(t)
	may := eligible(b.control)
	for _, c := range []struct {
		broker meta.Broker
		epoch  kafka.BrokerEpoch
		want   bool
	}{
		{meta.Broker{ID: 2, Epoch: 4}, 4, true},
		{meta.Broker{ID: 2, Epoch: 5}, 4, false},
		{meta.Broker{ID: 2, Epoch: 4, Fenced: true}, 4, false},
		{meta.Broker{ID: 2, Epoch: 4, ShuttingDown: true}, 4, false},
		{meta.Broker{ID: 3, Epoch: 4}, 5, false},
	} {
		b.change(func(e *meta.Edit) { e.PutBroker(&c.broker) })
		if got := may(2, c.epoch); got != c.want {
			t.Errorf("%+v, epoch %d: %v", c.broker, c.epoch, got)
		}
	}
}
