// Package replicatest is the replicas of one broker without its sockets, goroutines
// and clock: the real partitions on a real commit log, driven step by step by a
// simulation.
//
// It owns the seam through which a simulation above core reaches rooms that only
// core may import: a process that is started on a disk (Machine), takes images,
// appends, fetches and answers, and is killed. It must not know who decides about the
// cluster, what time it is, or how messages travel: cluster/clustertest does, which is
// why this room stands below it.
//
// Invariants: nothing happens but in a call; the same calls give the same results.
// A Replicas belongs to one goroutine.
package replicatest
