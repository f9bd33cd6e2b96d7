// Package reassignment plans where the replicas of partitions shall be, has a cluster
// move them, and watches how far it has come.
//
// It owns the plan (plan.go, balance.go: pure), the file in which Kafka's own tool writes
// one down, and the requests for it. It must not know how a plan is shown, nor how a
// cluster copies.
//
// A plan moves as little as it can: a replica that may stay stays. What it moves to is
// first a rack that the partition has no replica on, then the node that has least.
package reassignment
