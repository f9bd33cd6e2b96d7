package clustertest

import (
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// mayLead reports whether the cluster may elect a process for a partition: it is in the
// ISR or the ELR by its present registration.
func (h *history) mayLead(n *node, id meta.PartitionID) bool {
	img := h.w.control.latest()
	t, ok := img.TopicByID(id.Topic)
	if !ok || int(id.Partition) >= len(t.Partitions) || n.epoch == 0 {
		return false
	}
	b, known := img.Broker(n.id)
	p := &t.Partitions[id.Partition]
	return known && b.Epoch == n.epoch && (slices.Contains(p.ISR, n.id) || slices.Contains(p.ELR, n.id))
}

// eligible checks everybody who may be elected for a partition: each has what is
// committed, at every moment, whether it is elected or not.
func (h *history) eligible(id meta.PartitionID) {
	c := h.partitions[id]
	t, ok := h.w.control.latest().TopicByID(id.Topic)
	if c == nil || c.loose || !ok || int(id.Partition) >= len(t.Partitions) {
		return
	}
	p := &t.Partitions[id.Partition]
	for _, list := range [...][]kafka.BrokerID{p.ISR, p.ELR} {
		for _, r := range list {
			n := h.w.nodes[r]
			if s, ok := n.state(id); ok && !s.Failed && s.End < c.end && h.mayLead(n, id) {
				h.w.fail("eligible: node %d may lead %s, its log ends at %d, and %d is committed", r, c.name, s.End, c.end)
			}
		}
	}
}
