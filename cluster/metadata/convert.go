package metadata

import "github.com/mortisemq/mortise/core/meta"

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
			LastKnownLeader: p.LastKnownLeader, Adding: p.Adding, Removing: p.Removing}
	}
	return out
}

// toPartitions converts after decoding.
func toPartitions(partitions []snapshotPartition) []meta.Partition {
	out := make([]meta.Partition, len(partitions))
	for n, p := range partitions {
		out[n] = meta.Partition{Replicas: p.Replicas, ISR: p.ISR, Leader: p.Leader,
			LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ELR: p.ELR,
			LastKnownLeader: p.LastKnownLeader, Adding: p.Adding, Removing: p.Removing}
	}
	return out
}
