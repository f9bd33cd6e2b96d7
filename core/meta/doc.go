// Package meta is the picture of the cluster: Image, which never changes once
// made, and Control, the one door to whoever decides.
//
// It owns the nouns (brokers, topics, partitions, configs, features) and how one
// image becomes the next (Edit). It must not know who decides or how: a raft
// group, a test, or something else stands behind Control. Core reads images and
// asks Control; it never changes an image that others see.
//
// Invariants:
//   - An Image and all that hangs on it is immutable after Edit.Image returns.
//   - Index grows with every change; two images of one cluster with the same
//     Index are equal.
//   - A partition's LeaderEpoch and PartitionEpoch never go back while its
//     topic id lives.
package meta
