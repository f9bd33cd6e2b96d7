package controller

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// balance brings leaders back to the preferred replicas, electMax at a time.
func (m *Machine) balance(now time.Time) {
	if m.config.RebalanceInterval == 0 || m.balancing || now.Before(m.balanceAt) {
		return
	}
	m.balanceAt = now.Add(m.config.RebalanceInterval)
	partitions := unbalanced(m.image, electMax+1)
	if len(partitions) == 0 {
		return
	}
	if len(partitions) > electMax {
		partitions, m.balanceAt = partitions[:electMax], now // the rest follows
	}
	m.balancing = true
	m.actions = append(m.actions, Decide{Broker: kafka.NoBroker, Command: metadata.NewElectLeaders(meta.Preferred, partitions)})
}

// elected ends an election.
func (m *Machine) elected(now time.Time, err error) {
	m.balancing = false
	if err != nil {
		m.balanceAt = now.Add(m.config.RebalanceInterval)
	}
	m.balance(now)
}

// unbalanced are partitions whose preferred replica could lead, has room, and does not, at
// most limit. Cost: a walk over all partitions, while any is not led by its first replica.
func unbalanced(image *meta.Image, limit int) (all []meta.PartitionID) {
	if image.Unpreferred() == 0 {
		return nil
	}
	for t := range image.Topics() {
		for n := range t.Partitions {
			p := &t.Partitions[n]
			preferred := p.Replicas[0]
			if p.Leader == preferred || !slices.Contains(p.ISR, preferred) {
				continue
			}
			if b, ok := image.Broker(preferred); ok && b.Active() && !b.Full {
				if all = append(all, meta.PartitionID{Topic: t.ID, Partition: int32(n)}); len(all) == limit {
					return all
				}
			}
		}
	}
	return all
}
