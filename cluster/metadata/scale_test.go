package metadata

import (
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// wideImage has 100 brokers in 5 racks and topics of the given partitions with three
// replicas each, as many as make 100,000 partitions.
func wideImage(partitions int) *meta.Image {
	image := meta.Empty("c")
	do := func(c Command) { image, _ = Apply(image, image.Index+1, c) }
	for id := range 100 {
		do(&RegisterBroker{ID: kafka.BrokerID(id), Rack: fmt.Sprint(id % 5), CleanShutdown: true})
	}
	c := &CreateTopics{Seed: 1}
	for n := range 100_000 / partitions {
		c.Topics = append(c.Topics, NewTopic{Name: fmt.Sprintf("t-%06d", n), ID: kafka.TopicID{byte(n), byte(n >> 8), byte(n >> 16), 1},
			PartitionCount: int32(partitions), ReplicationFactor: 3})
	}
	do(c)
	return image
}

// BenchmarkBrokerGoes is what a controller spends on a broker that goes and comes: 3,000
// of 100,000 partitions change, 1,000 of them get another leader.
func BenchmarkBrokerGoes(b *testing.B) {
	for _, partitions := range []int{1, 100} {
		image := wideImage(partitions)
		run := func(name string, from *meta.Image, command func(kafka.BrokerEpoch) Command) (after *meta.Image) {
			b.Run(fmt.Sprintf("partitions-per-topic=%d/%s", partitions, name), func(b *testing.B) {
				broker, _ := from.Broker(7)
				for b.Loop() {
					after, _ = Apply(from, from.Index+1, command(broker.Epoch))
				}
			})
			return after
		}
		run("fence", image, func(e kafka.BrokerEpoch) Command { return &FenceBroker{ID: 7, Epoch: e} })
		run("shutdown", image, func(e kafka.BrokerEpoch) Command { return &BeginShutdown{ID: 7, Epoch: e} })
		run("unclean-start", image, func(e kafka.BrokerEpoch) Command { return &RegisterBroker{ID: 7} })
		run("clean-start", image, func(e kafka.BrokerEpoch) Command { return &RegisterBroker{ID: 7, CleanShutdown: true} })
		run("elect-all", image, func(e kafka.BrokerEpoch) Command { return &ElectLeaders{All: true} })
		fenced, _ := Apply(image, image.Index+1, &FenceBroker{ID: 7, Epoch: 8})
		run("unfence", fenced, func(e kafka.BrokerEpoch) Command { return &UnfenceBroker{ID: 7, Epoch: e} })
	}
}

// BenchmarkAlterISR is one change of an ISR in a topic of many partitions.
func BenchmarkAlterISR(b *testing.B) {
	for _, partitions := range []int{1, 100, 10_000} {
		image := wideImage(partitions)
		t, _ := image.Topic("t-000000")
		p := t.Partitions[0]
		broker, _ := image.Broker(p.Leader)
		c := &AlterISR{From: p.Leader, Epoch: broker.Epoch, Changes: []ISRChange{{Topic: t.ID, ISR: []ISRReplica{{ID: p.Leader, Epoch: -1}}}}}
		b.Run(fmt.Sprintf("partitions-per-topic=%d", partitions), func(b *testing.B) {
			for b.Loop() {
				if _, r := Apply(image, image.Index+1, c); r.Err != nil || r.ISR[0].Err != nil {
					b.Fatal(r)
				}
			}
		})
	}
}
