package metadata

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// fromEndpoints converts for encoding.
func fromEndpoints(endpoints []meta.Endpoint) []Endpoint {
	var out []Endpoint
	for _, e := range endpoints {
		out = append(out, Endpoint(e))
	}
	return out
}

// toEndpoints converts after decoding.
func toEndpoints(endpoints []Endpoint) []meta.Endpoint {
	var out []meta.Endpoint
	for _, e := range endpoints {
		out = append(out, meta.Endpoint(e))
	}
	return out
}

// fromPartitions converts for encoding.
func fromPartitions(partitions []meta.Partition) []snapshotPartition {
	out := make([]snapshotPartition, len(partitions))
	for n, p := range partitions {
		out[n] = snapshotPartition{Replicas: p.Replicas, ISR: p.ISR, Leader: p.Leader,
			LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ELR: p.ELR,
			LastKnownLeader: p.LastKnownLeader, Adding: p.Adding, Removing: p.Removing, Recovering: p.Recovering}
	}
	return out
}

// toPartitions converts after decoding.
func toPartitions(partitions []snapshotPartition) []meta.Partition {
	out := make([]meta.Partition, len(partitions))
	for n, p := range partitions {
		out[n] = meta.Partition{Replicas: p.Replicas, ISR: p.ISR, Leader: p.Leader,
			LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ELR: p.ELR,
			LastKnownLeader: p.LastKnownLeader, Adding: p.Adding, Removing: p.Removing, Recovering: p.Recovering}
	}
	return out
}

// NewAlterISR is the command of meta.Control.AlterISR.
func NewAlterISR(from kafka.BrokerID, epoch kafka.BrokerEpoch, changes []meta.ISRChange) *AlterISR {
	c := &AlterISR{From: from, Epoch: epoch, Changes: make([]ISRChange, len(changes))}
	for n, p := range changes {
		isr := make([]ISRReplica, len(p.ISR))
		for i, r := range p.ISR {
			isr[i] = ISRReplica{ID: r.ID, Epoch: r.Epoch}
		}
		c.Changes[n] = ISRChange{Topic: p.Topic, Partition: p.Partition, LeaderEpoch: p.LeaderEpoch,
			PartitionEpoch: p.PartitionEpoch, ISR: isr, Recovered: p.Recovered}
	}
	return c
}

// NewElectLeaders is the command of meta.Control.ElectLeaders.
func NewElectLeaders(kind meta.ElectionKind, partitions []meta.PartitionID) *ElectLeaders {
	c := &ElectLeaders{Kind: kind, All: partitions == nil}
	for _, p := range partitions {
		c.Partitions = append(c.Partitions, PartitionID(p))
	}
	return c
}

// NewAlterReassignments is the command of meta.Control.AlterReassignments.
func NewAlterReassignments(changes []meta.Reassignment) *AlterReassignments {
	c := &AlterReassignments{Changes: make([]Reassignment, len(changes))}
	for n, r := range changes {
		c.Changes[n] = Reassignment{Topic: r.Topic, Partition: r.Partition, Replicas: r.Replicas, KeepFactor: r.KeepFactor}
	}
	return c
}
