// Package roundrobin gives each record of a topic the next partition, whatever its
// key, as Kafka's RoundRobinPartitioner does.
//
// It owns one counter for each topic, which starts at 0. Partitions without a leader
// are left out when the asker says which have one. Records with the same key end up
// on different partitions, so it must not be used where the order of a key matters,
// and it does not name FeatureDeterministic.
//
// It imports sdk/partitioner.
package roundrobin
