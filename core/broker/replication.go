package broker

import (
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// partitionState is how far a partition's replicas are in sync.
type partitionState struct{ underReplicated, underMinISR, atMinISR bool }

// stateOf compares the replicas in sync with what there should be; min.insync.replicas
// is bounded by how many replicas there are at all.
func stateOf(replicas, isr []kafka.BrokerID, minISR int) partitionState {
	least := min(minISR, len(replicas))
	return partitionState{underReplicated: len(isr) < len(replicas), underMinISR: len(isr) < least, atMinISR: len(isr) == least}
}

// ledCounts count the partitions that this broker leads.
type ledCounts struct{ led, underReplicated, underMinISR, atMinISR int }

// ledCounter counts them when somebody asks, and not again for a moment: the metrics
// of one scrape are of one count.
type ledCounter struct {
	count func() ledCounts
	now   func() time.Time

	mu   sync.Mutex
	at   time.Time // zero: never; guarded by mu
	last ledCounts // guarded by mu
}

// ledFresh is how long a count is good for.
const ledFresh = time.Second

// get is the count of the moment.
func (c *ledCounter) get() ledCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); c.at.IsZero() || now.Sub(c.at) >= ledFresh {
		c.last, c.at = c.count(), now
	}
	return c.last
}

// countLed looks at every partition of this broker: about 1 ms for 10,000.
func (b *Broker) countLed() (c ledCounts) {
	roles := b.shown.roles.Load()
	if roles == nil {
		return c
	}
	for p := range roles.All {
		r := p.Role()
		if !r.Leading {
			continue
		}
		s := stateOf(r.Replicas, r.ISR, p.Config().Topic.MinInsyncReplicas)
		c.led++
		c.underReplicated += count(s.underReplicated)
		c.underMinISR += count(s.underMinISR)
		c.atMinISR += count(s.atMinISR)
	}
	return c
}

// measureReplication makes the metrics of many-broker facts.
func (b *Broker) measureReplication() {
	m := b.options.Metrics
	partition.Measure(m)
	led := &ledCounter{count: b.countLed, now: b.options.Clock.Now}
	gauge := func(name, help string, of func(ledCounts) int) {
		m.GaugeFunc(name, help, func() float64 { return float64(of(led.get())) })
	}
	gauge("mortise_broker_led_partitions", "Partitions that this broker leads.", func(c ledCounts) int { return c.led })
	gauge("mortise_broker_under_replicated_partitions", "Partitions led by this broker with replicas that are not in sync.", func(c ledCounts) int { return c.underReplicated })
	gauge("mortise_broker_under_min_isr_partitions", "Partitions led by this broker with fewer replicas in sync than min.insync.replicas: acks=all is refused.", func(c ledCounts) int { return c.underMinISR })
	gauge("mortise_broker_at_min_isr_partitions", "Partitions led by this broker with just as many replicas in sync as min.insync.replicas.", func(c ledCounts) int { return c.atMinISR })
	m.GaugeFunc("mortise_cluster_partitions", "Partitions of the cluster.", func() float64 { return float64(b.image().PartitionCount()) })
	m.GaugeFunc("mortise_cluster_offline_partitions", "Partitions of the cluster that nobody leads.", func() float64 { return float64(b.image().Leaderless()) })
	m.GaugeFunc("mortise_cluster_active_controller", "1 on the node that decides for the cluster, as far as it knows; the sum over nodes is 1.", func() float64 {
		return float64(count(b.controller() == b.options.NodeID))
	})
	m.GaugeFunc("mortise_cluster_brokers", "Registered brokers, fenced ones too.", func() float64 { return float64(b.image().BrokerCount()) })
	m.GaugeFunc("mortise_cluster_fenced_brokers", "Registered brokers that nothing is heard of.", func() float64 {
		fenced := 0
		for broker := range b.image().Brokers() {
			fenced += count(broker.Fenced)
		}
		return float64(fenced)
	})
}
