package controller

import (
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// large is a cluster of 100 brokers with 100,000 partitions of three replicas.
func large(b *testing.B) *meta.Image {
	image := meta.Empty("c")
	apply := func(c metadata.Command) {
		image, _ = metadata.Apply(image, image.Index+1, c)
	}
	for id := range kafka.BrokerID(100) {
		apply(&metadata.RegisterBroker{ID: id, CleanShutdown: true})
	}
	c := &metadata.CreateTopics{}
	for n := range 1000 {
		c.Topics = append(c.Topics, metadata.NewTopic{Name: string(rune('a'+n%26)) + time.Duration(n).String(),
			ID: kafka.TopicID{byte(n), byte(n >> 8), 1}, PartitionCount: 100, ReplicationFactor: 3})
	}
	apply(c)
	if image.PartitionCount() != 100_000 {
		b.Fatalf("%d partitions", image.PartitionCount())
	}
	return image
}

// BenchmarkHeartbeat is one heartbeat of one of 100 brokers.
func BenchmarkHeartbeat(b *testing.B) {
	image, now := large(b), time.Unix(1000, 0)
	m := NewMachine(Config{Self: 1}, now, image)
	m.Ready()
	h := Heartbeat{ID: 7, Applied: image.Index}
	broker, _ := image.Broker(7)
	h.Epoch = broker.Epoch
	b.ReportAllocs()
	for b.Loop() {
		m.Heartbeat(now, h)
	}
}

// BenchmarkTick is a second in which nothing happens, with 100 brokers, and one in
// which preferred leaders are looked at.
func BenchmarkTick(b *testing.B) {
	for name, every := range map[string]time.Duration{"quiet": time.Hour, "balance": time.Nanosecond} {
		b.Run(name, func(b *testing.B) {
			image, now := large(b), time.Unix(1000, 0)
			m := NewMachine(Config{Self: 1, RebalanceInterval: every, SessionTimeout: time.Hour}, now, image)
			m.Ready()
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Microsecond)
				m.Tick(now)
				m.Ready()
			}
		})
	}
}
