package meta

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// holdingParts is how many lists what a broker holds is cut into: a change copies one of
// them, and the heads of all.
const holdingParts = 128

// holdings are the partitions that have a replica on one broker, each list in order. 20
// bytes for each replica of the cluster. They do not change once an image has them.
type holdings [holdingParts][]PartitionID

// part is the list that a partition belongs to; ids are random.
func (p PartitionID) part() int { return (int(p.Topic[15]) + int(p.Partition)) % holdingParts }

// compare orders partitions.
func (p PartitionID) compare(o PartitionID) int {
	return cmp.Or(p.Topic.Compare(o.Topic), cmp.Compare(p.Partition, o.Partition))
}

// PartitionsOn are the partitions that have a replica on a broker, alive or not, in an
// order that is the same on every node. Cost: what the broker has, not what there is.
func (i *Image) PartitionsOn(id kafka.BrokerID) iter.Seq[PartitionID] {
	return func(yield func(PartitionID) bool) {
		h := i.holdings[id]
		if h == nil {
			return
		}
		for _, list := range h {
			for _, p := range list {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// holdingsEdit is what one broker holds after an edit.
type holdingsEdit struct {
	holdings
	owned [holdingParts]bool // no image has that list yet
}

// list is a list that may be changed.
func (h *holdingsEdit) list(p PartitionID) *[]PartitionID {
	n := p.part()
	if !h.owned[n] {
		h.holdings[n], h.owned[n] = slices.Clone(h.holdings[n]), true
	}
	return &h.holdings[n]
}

// put adds a partition.
func (h *holdingsEdit) put(p PartitionID) {
	list := h.list(p)
	if at, found := slices.BinarySearchFunc(*list, p, PartitionID.compare); !found {
		*list = slices.Insert(*list, at, p)
	}
}

// remove takes a partition away.
func (h *holdingsEdit) remove(p PartitionID) {
	list := h.list(p)
	if at, found := slices.BinarySearchFunc(*list, p, PartitionID.compare); found {
		*list = slices.Delete(*list, at, at+1)
	}
}

// held is what a broker holds, to be changed.
func (e *Edit) held(id kafka.BrokerID) *holdingsEdit {
	h := e.holdings[id]
	if h == nil {
		h = &holdingsEdit{}
		if was := e.next.holdings[id]; was != nil {
			h.holdings = *was
		}
		if e.holdings == nil {
			e.holdings = map[kafka.BrokerID]*holdingsEdit{}
		}
		e.holdings[id] = h
	}
	return h
}

// hold notes where the replicas of a topic's partitions are, which were elsewhere or
// nowhere. A partition with the very same list costs one comparison.
func (e *Edit) hold(topic kafka.TopicID, was, is []Partition) {
	for n := range max(len(was), len(is)) {
		from, to := replicasOf(was, n), replicasOf(is, n)
		if sameList(from, to) {
			continue
		}
		p := PartitionID{topic, int32(n)}
		for _, id := range from {
			if !slices.Contains(to, id) {
				e.held(id).remove(p)
			}
		}
		for _, id := range to {
			if !slices.Contains(from, id) {
				e.held(id).put(p)
			}
		}
	}
}

// replicasOf are the replicas of a partition; nil: there is no such one.
func replicasOf(all []Partition, n int) []kafka.BrokerID {
	if n >= len(all) {
		return nil
	}
	return all[n].Replicas
}

// sameList says whether two lists are one in memory, as those are that no change touched.
func sameList(a, b []kafka.BrokerID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// putHoldings gives the image what the edit made of the holdings.
func (e *Edit) putHoldings() {
	if len(e.holdings) == 0 {
		return
	}
	all := maps.Clone(e.next.holdings)
	for id, h := range e.holdings {
		all[id] = &h.holdings
	}
	e.next.holdings = all
}
