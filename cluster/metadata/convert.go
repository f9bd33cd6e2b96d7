package metadata

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// fromEndpoint converts for encoding.
func fromEndpoint(e meta.Endpoint) Endpoint { return Endpoint(e) }

// toEndpoint converts after decoding.
func toEndpoint(e Endpoint) meta.Endpoint { return meta.Endpoint(e) }

// fromPartition converts for encoding.
func fromPartition(p meta.Partition) snapshotPartition {
	return snapshotPartition{Replicas: p.Replicas, ISR: p.ISR, Leader: p.Leader,
		LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ELR: p.ELR,
		LastKnownLeader: p.LastKnownLeader, Adding: p.Adding, Removing: p.Removing, Recovering: p.Recovering}
}

// toPartition converts after decoding.
func toPartition(p snapshotPartition) meta.Partition {
	return meta.Partition{Replicas: p.Replicas, ISR: p.ISR, Leader: p.Leader,
		LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ELR: p.ELR,
		LastKnownLeader: p.LastKnownLeader, Adding: p.Adding, Removing: p.Removing, Recovering: p.Recovering}
}

// NewAlterISR is the command of meta.Control.AlterISR.
func NewAlterISR(from kafka.BrokerID, epoch kafka.BrokerEpoch, changes []meta.ISRChange) *AlterISR {
	return &AlterISR{From: from, Epoch: epoch, Changes: mapped(changes, func(c meta.ISRChange) ISRChange {
		return ISRChange{Topic: c.Topic, Partition: c.Partition, LeaderEpoch: c.LeaderEpoch, PartitionEpoch: c.PartitionEpoch,
			ISR:       mapped(c.ISR, func(r meta.ISRReplica) ISRReplica { return ISRReplica{ID: r.ID, Epoch: r.Epoch} }),
			Recovered: c.Recovered, Failed: c.Failed, Full: c.Full}
	})}
}

// NewElectLeaders is the command of meta.Control.ElectLeaders.
func NewElectLeaders(kind meta.ElectionKind, partitions []meta.PartitionID) *ElectLeaders {
	return &ElectLeaders{Kind: kind, All: partitions == nil,
		Partitions: mapped(partitions, func(p meta.PartitionID) PartitionID { return PartitionID(p) })}
}

// NewAlterReassignments is the command of meta.Control.AlterReassignments.
func NewAlterReassignments(changes []meta.Reassignment) *AlterReassignments {
	return &AlterReassignments{Changes: mapped(changes, func(r meta.Reassignment) Reassignment {
		return Reassignment{Topic: r.Topic, Partition: r.Partition, Replicas: r.Replicas, KeepFactor: r.KeepFactor}
	})}
}
