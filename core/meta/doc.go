// Package meta is the picture of the cluster: Image, which never changes once
// made, and Control, the one door to whoever decides.
//
// It owns the nouns (brokers, topics, partitions, configs, features), how one image
// becomes the next (Edit), and what a decision does to partitions (Draft, and
// Partition.Next, where elections, in-sync and eligible replicas and moves are
// computed and nowhere else). It must not know who decides or how: a raft group, a
// test, or something else stands behind Control. Core reads images and asks Control;
// it never changes an image that others see.
//
// Images are large and change a little at a time. So they share what did not change, find
// what one broker has (PartitionsOn), and remember what the last changes touched
// (ChangedSince): who follows them looks at that, and at everything only if it was away for
// longer.
//
// Invariants:
//   - An Image and all that hangs on it is immutable after Edit.Image returns.
//   - Index grows with every change; two images of one cluster with the same
//     Index are equal.
//   - A partition's LeaderEpoch and PartitionEpoch never go back while its
//     topic id lives; the second rises with every change, the first with every leader.
//   - ISR ⊆ Replicas, and who is fenced is in no ISR. ELR ⊆ Replicas without ISR. The
//     leader is in the ISR, or there is none; then the ISR may be empty.
package meta
