// Package partitioner is the contract of plugins that choose partitions for the
// keys of records. It imports only the standard library.
//
// It owns the question and the answer. A partitioner sees keys, never values.
// Kafka clients name the partition themselves; a partitioner is asked where nobody
// did yet (gateways, mortise produce, the kgo adapter), and to check batches that
// arrive on topics with mortise.partitioner.check.
//
// Obligations of a Partitioner. The core checks every answer; one that breaks a rule
// counts as no answer, and records with keys are refused with a retriable error
// rather than sent elsewhere, because that would break the order of a key.
//
//  1. out[i] answers Keys[i]: a partition from 0 to Partitions-1, or Any for a null
//     or an empty key whose partition does not matter. (Any for an empty key is what
//     librdkafka does unless told otherwise: it takes it for no key.)
//  2. With FeatureDeterministic the partition of a key that is not null depends on
//     the key and Partitions only, not on batches, time, Available or restarts. The
//     broker may remember such answers.
//  3. A null key (nil) and an empty key (length 0) are different.
//  4. Assign returns soon after ctx is done. The broker waits 50 ms by default.
//  5. Assign is safe for concurrent use and keeps neither the request nor out.
package partitioner
