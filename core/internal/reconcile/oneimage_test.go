package reconcile

import (
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// TestImageIsOne: what an image says of min.insync.replicas and of who is in sync counts
// together, or a leader would commit by half of each what those lack who may be elected.
func TestImageIsOne(t *testing.T) {
	minISR := func(e *meta.Edit, n string) {
		e.SetConfig(meta.Resource{Type: meta.ResourceTopic, Name: "t"}, map[string]string{meta.MinISRConfig: n})
	}
	for name, c := range map[string]struct {
		before, after string // min.insync.replicas
		isr           []kafka.BrokerID
		next          meta.Partition
	}{
		// Broker 2 left below min.insync.replicas, and is elected when this one is missed.
		"less is asked for when it leads no more": {"2", "1", []kafka.BrokerID{self},
			meta.Partition{Leader: 2, LeaderEpoch: 5, PartitionEpoch: 2, ISR: []kafka.BrokerID{2}}},
		// Broker 2 leaves the ISR and stays eligible, because more is asked for.
		"more is asked for when another one leaves": {"1", "2", []kafka.BrokerID{self, 2},
			meta.Partition{Leader: self, LeaderEpoch: 4, PartitionEpoch: 2, ISR: []kafka.BrokerID{self}, ELR: []kafka.BrokerID{2}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			b.start()
			defer func() { b.stop(true) }()
			made := &meta.Topic{Name: "t", ID: kafka.NewTopicID(), Partitions: []meta.Partition{{
				Replicas: []kafka.BrokerID{self, 2}, ISR: c.isr, Leader: self, LeaderEpoch: 4, PartitionEpoch: 1}}}
			b.change(func(e *meta.Edit) { e.PutTopic(made); minISR(e, c.before) })
			if out := b.append("t", 0); out.Code != kafka.None {
				t.Fatal(out.Code)
			}
			p, _ := b.roles.ByName("t", 0)
			if p.EndOffset() != 1 || p.HighWatermark() != 0 {
				t.Fatalf("high watermark %d of %d: the test makes no point", p.HighWatermark(), p.EndOffset())
			}
			next := *made
			c.next.Replicas = made.Partitions[0].Replicas
			next.Partitions = []meta.Partition{c.next}
			b.change(func(e *meta.Edit) { e.PutTopic(&next); minISR(e, c.after) })
			if p.HighWatermark() != 0 {
				t.Errorf("it has committed %d", p.HighWatermark())
			}
			if got := p.Config().Topic.MinInsyncReplicas; string(rune('0'+got)) != c.after {
				t.Errorf("min.insync.replicas is %d, want %s", got, c.after)
			}
		})
	}
}
