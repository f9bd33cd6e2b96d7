// Package sticky chooses partitions as Kafka's producer does with its defaults: keys
// are hashed (package murmur2), and records without a key stay on one partition until
// it has a batch's worth of bytes, then on another. Few large batches cost a broker
// less than many small ones.
//
// It owns which partition a topic is on and how many bytes it still takes. A new
// partition is drawn at random among those that have a leader; the present one is
// left early when it has none. When the sizes of values are not known, every question
// counts as a batch. Kafka also weighs partitions by how full the producer's queues
// are; nobody tells a plugin that.
//
// The setting bytes is Kafka's batch.size, 16384 by default.
//
// It imports sdk/partitioner. Lock order: a topic's lock, nothing under it.
package sticky
