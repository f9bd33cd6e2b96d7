package meta

import (
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// ids makes a list.
func ids(list ...kafka.BrokerID) []kafka.BrokerID { return list }

// alive says that the brokers may be elected, and nobody else.
func alive(list ...kafka.BrokerID) func(kafka.BrokerID) bool {
	return func(id kafka.BrokerID) bool { return containsAll(list, ids(id)) }
}

// The scenarios of cluster/metadata tell the rules; here are their corners.
func TestNextStateOfAPartition(t *testing.T) {
	led := Partition{Replicas: ids(1, 2, 3), ISR: ids(1, 2, 3), Leader: 1, LeaderEpoch: 5, PartitionEpoch: 9, LastKnownLeader: kafka.NoBroker}
	with := func(change func(*Partition)) Partition { p := led; change(&p); return p }
	empty := with(func(p *Partition) { p.ISR, p.Leader, p.LastKnownLeader = ids(), kafka.NoBroker, 1 })
	for _, c := range []struct {
		says   string
		from   Partition
		change PartitionChange
		want   string
	}{
		{"nothing asked, nothing changed", led, PartitionChange{Alive: alive(1, 2, 3)}, "isr [1 2 3] elr [] leader 1 epoch 5/9"},
		{"a leader that can't is replaced, though it is in the ISR", led, PartitionChange{Alive: alive(2, 3)}, "isr [1 2 3] elr [] leader 2 epoch 6/10"},
		{"nobody can", led, PartitionChange{Alive: alive()}, "isr [1 2 3] elr [] leader -1 epoch 6/10"},
		{"who is leaving leads on", led, PartitionChange{Alive: alive(2, 3), Leaving: alive(1)}, "isr [1 2 3] elr [] leader 1 epoch 5/9"},
		{"but not against the preferred one", with(func(p *Partition) { p.Leader = 2 }), PartitionChange{Alive: alive(1, 3), Leaving: alive(2), Election: ElectPreferred}, "isr [1 2 3] elr [] leader 1 epoch 6/10"},
		{"min.insync.replicas counts no more than there are replicas", with(func(p *Partition) { p.Replicas, p.ISR = ids(1, 2), ids(1, 2) }), PartitionChange{Alive: alive(1, 2), MinISR: 3, ISR: ids(1, 2)}, "isr [1 2] elr [] leader 1 epoch 5/9"},
		{"who is eligible but lost is not", led, PartitionChange{Alive: alive(1, 3), MinISR: 2, ISR: ids(1), Lost: ids(2)}, "isr [1] elr [3] leader 1 epoch 5/10"},
		{"an epoch that is asked for is enough for a new leader", led, PartitionChange{Alive: alive(2), LeaderEpoch: 9}, "isr [1 2 3] elr [] leader 2 epoch 9/10"},
		{"an epoch that is asked for is not lowered", led, PartitionChange{Alive: alive(1), LeaderEpoch: 4}, "isr [1 2 3] elr [] leader 1 epoch 5/9"},
		{"the last known leader", empty, PartitionChange{Alive: alive(1, 2)}, "isr [1] elr [] leader 1 epoch 6/10 recovering"},
		{"the last known leader has to be there", empty, PartitionChange{Alive: alive(2, 3)}, "isr [] elr [] leader -1 epoch 5/9 last 1"},
		{"anybody, where that is allowed", empty, PartitionChange{Alive: alive(2, 3), Election: ElectUnclean}, "isr [2] elr [] leader 2 epoch 6/10 recovering"},
		{"the last known leader before anybody", with(func(p *Partition) { p.ISR, p.Leader, p.LastKnownLeader = nil, kafka.NoBroker, 3 }), PartitionChange{Alive: alive(1, 2, 3), Election: ElectUnclean}, "isr [3] elr [] leader 3 epoch 6/10 recovering"},
		{"the last known leader has to be a replica", with(func(p *Partition) { p.ISR, p.Leader, p.LastKnownLeader = nil, kafka.NoBroker, 7 }), PartitionChange{Alive: alive(7)}, "isr [] elr [] leader -1 epoch 5/9 last 7"},
		{"recovered", with(func(p *Partition) { p.Recovering = true }), PartitionChange{Alive: alive(1), Recovered: true}, "isr [1 2 3] elr [] leader 1 epoch 5/10"},
		{"a replica that goes raises the epoch", led, PartitionChange{Alive: alive(1), Replicas: ids(1, 2), ISR: ids(1, 2)}, "isr [1 2] elr [] leader 1 epoch 6/10"},
	} {
		before := fmt.Sprintf("%+v", c.from)
		next, changed := c.from.Next(&c.change)
		if got := picture(&next); got != c.want {
			t.Errorf("%s: %s, want %s", c.says, got, c.want)
		}
		if changed != (next.PartitionEpoch != c.from.PartitionEpoch) {
			t.Errorf("%s: changed is %v, the partition epoch goes from %d to %d", c.says, changed, c.from.PartitionEpoch, next.PartitionEpoch)
		}
		if after := fmt.Sprintf("%+v", c.from); after != before {
			t.Errorf("%s: the old state became %s, was %s", c.says, after, before)
		}
	}
}

// picture is a partition as text.
func picture(p *Partition) string {
	text := fmt.Sprintf("isr %v elr %v leader %d epoch %d/%d", p.ISR, p.ELR, p.Leader, p.LeaderEpoch, p.PartitionEpoch)
	if p.LastKnownLeader != kafka.NoBroker {
		text += fmt.Sprintf(" last %d", p.LastKnownLeader)
	}
	if p.Recovering {
		text += " recovering"
	}
	return text
}
