// Package fnv1a chooses partitions as sarama does by default: the 32-bit FNV-1a hash
// of the key modulo the number of partitions. librdkafka's fnv1a_random, kafka-go's
// Hash and kgo with its hasher for sarama choose the same.
//
// The hash is unsigned and sarama takes it for a signed number, so there are three
// ways to get from it to a partition, and the setting modulo names one:
//
//   - signed: the remainder of the signed number, and the absolute value of that.
//     This is what sarama does by default, and the default here.
//   - masked: the sign bit is cleared before the remainder. This is sarama's
//     reference partitioner, which follows the Java producer in this.
//   - unsigned: the remainder of the unsigned number.
//
// A null key may go anywhere; an empty key is hashed. It owns that arithmetic and
// nothing else. It imports sdk/partitioner.
package fnv1a
