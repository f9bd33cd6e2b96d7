package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/replicatest"
)

// anyPartition is a partition that is there; nil: there is none.
func (f *faults) anyPartition() (id meta.PartitionID, p *meta.Partition) {
	t, ok := f.w.topics.any()
	if !ok {
		return id, nil
	}
	n := f.w.rand.IntN(len(t.Partitions))
	return meta.PartitionID{Topic: t.ID, Partition: int32(n)}, &t.Partitions[n]
}

// trim deletes records of a partition: up to some offset, all, or more than is committed,
// which must be refused.
func (f *faults) trim(*node, time.Duration) {
	id, p := f.anyPartition()
	if p == nil {
		return
	}
	share := f.w.rand.IntN(6)
	f.deleteRecords(id, func(s *replicatest.State) kafka.Offset {
		switch share {
		case 0:
			return s.End
		case 1:
			return s.HighWatermark + 1
		case 2:
			return s.HighWatermark
		}
		return s.Start + (s.HighWatermark-s.Start)*kafka.Offset(share)/6
	})
}

// deleteRecords has the leader of a partition delete what lies before an offset.
func (f *faults) deleteRecords(id meta.PartitionID, before func(*replicatest.State) kafka.Offset) {
	t, ok := f.w.control.latest().TopicByID(id.Topic)
	if !ok || t.Partitions[id.Partition].Leader == kafka.NoBroker {
		return
	}
	leader := f.w.nodes[t.Partitions[id.Partition].Leader]
	f.w.net.call(adminHost, leader.host, nil, time.Second, func(func(any)) {
		s, ok := leader.state(id)
		if !ok || s.Failed || !s.Leading {
			return
		}
		to := before(&s)
		start, code := leader.replicas.DeleteRecords(id, to)
		leader.note("%s-%d starts at %d after a deletion up to %d, %v", t.Name, id.Partition, start, to, code)
		if to <= s.HighWatermark { // else it must be refused, and nothing is deleted
			f.w.history.deleted(id, to)
		}
		if code == kafka.None && start > s.Start {
			f.w.churn.Deleted++
		}
		if code == kafka.None && to > s.HighWatermark {
			f.w.fail("log start: %s-%d: records up to %d are deleted, %d are committed", t.Name, id.Partition, to, s.HighWatermark)
		}
	}, func(any, bool) {})
}

// retain has retention look at what a node leads. Records may be gone up to where a log
// starts then; of one whose disk failed meanwhile, that is not known.
func (f *faults) retain(n *node, _ time.Duration) {
	keep := f.w.rand.IntN(3)
	n.run(n.incarnation, func() {
		n.note("retention keeps %d segments", keep)
		led := map[meta.PartitionID]kafka.Offset{} // their high watermarks
		for _, id := range n.replicas.Held() {
			if s, ok := n.state(id); ok && s.Leading && !s.Failed {
				led[id] = s.HighWatermark
			}
		}
		n.replicas.Retain(keep)
		for _, id := range n.replicas.Held() {
			hw, was := led[id]
			if s, ok := n.state(id); was && ok && !s.Failed {
				f.w.history.deleted(id, min(s.Start, hw))
			} else if was {
				f.w.history.deleted(id, hw)
			}
		}
	})
}

// outrun has the records that a follower lacks be deleted while it is away: it must begin
// anew where its leader's log begins by then.
func (f *faults) outrun(_ *node, duration time.Duration) {
	id, p := f.anyPartition()
	if p == nil || p.Leader == kafka.NoBroker || p.Reassigning() {
		return
	}
	followers := slices.DeleteFunc(slices.Clone(p.ISR), func(id kafka.BrokerID) bool { return id == p.Leader })
	if len(followers) == 0 {
		return
	}
	n := f.w.nodes[followers[f.w.rand.IntN(len(followers))]]
	if !f.mayStop(n) {
		return
	}
	n.note("is away while records of %v are deleted", id)
	n.kill()
	f.back(n, 4*time.Second+duration/4)
	f.w.after(3*time.Second+duration/4, func() {
		if !f.w.calm {
			f.deleteRecords(id, func(s *replicatest.State) kafka.Offset { return s.HighWatermark })
		}
	})
}
