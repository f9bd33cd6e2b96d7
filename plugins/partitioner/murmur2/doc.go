// Package murmur2 chooses partitions as Kafka's Java producer does by default: the
// murmur2 hash of the key, its sign bit cleared, modulo the number of partitions.
// kgo, kafkajs and librdkafka's murmur2_random choose the same.
//
// It owns that arithmetic and nothing else, and has no state. A null key may go
// anywhere; an empty key is hashed like any other. It imports sdk/partitioner.
package murmur2
