// Package crc32 chooses partitions as librdkafka does by default, and with it
// confluent-kafka-python, confluent-kafka-go and kcat: the CRC-32 (IEEE) of the key,
// unsigned, modulo the number of partitions.
//
// Its one setting has librdkafka's names. With consistent_random, which is
// librdkafka's default and ours, a null and an empty key are no keys and may go
// anywhere. With consistent both have the hash 0: all of them go to partition 0.
//
// It owns that arithmetic and nothing else. It imports sdk/partitioner.
package crc32
