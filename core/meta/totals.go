package meta

import "github.com/mortisemq/mortise/core/kafka"

// totals are numbers of partitions of all topics together, but for replicas.
type totals struct{ partitions, replicas, leaderless, unpreferred, reassigning int }

// count adds a topic, or with -1 takes it out.
func (s *totals) count(t *Topic, sign int) {
	s.partitions += sign * len(t.Partitions)
	for n := range t.Partitions {
		p := &t.Partitions[n]
		s.replicas += sign * len(p.Replicas)
		if p.Leader == kafka.NoBroker {
			s.leaderless += sign
		}
		if len(p.Replicas) > 0 && p.Leader != p.Replicas[0] {
			s.unpreferred += sign
		}
		if p.Reassigning() {
			s.reassigning += sign
		}
	}
}

// PartitionCount is the number of partitions of all topics together.
func (i *Image) PartitionCount() int { return i.totals.partitions }

// ReplicaCount is the number of their replicas.
func (i *Image) ReplicaCount() int { return i.totals.replicas }

// Leaderless is the number of partitions that nobody leads.
func (i *Image) Leaderless() int { return i.totals.leaderless }

// Unpreferred is the number of partitions that are not led by their first replica.
func (i *Image) Unpreferred() int { return i.totals.unpreferred }

// Reassigning is the number of partitions that are on their way to other replicas.
func (i *Image) Reassigning() int { return i.totals.reassigning }
