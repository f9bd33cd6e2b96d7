// Package placement says which brokers hold the replicas of new partitions.
//
// It is pure: the same brokers, counts and seed give the same answer on every
// node, whatever Go release built it, because the answer is computed by each
// node when it applies a command. So it has its own small generator of random
// numbers and takes nothing from maps in their order.
//
// It owns the striping. It must not know why partitions are made, nor check a
// request: meta.Image.CheckNewTopic has done that before.
//
// The rule is Kafka's (StripedReplicaPlacer): racks in a row and in each its brokers
// in a row, a random place to start, one step further for each partition, and a new
// shuffle of all rows once there were as many partitions as brokers, so that two
// partitions seldom have the same set of followers. Replicas go to one rack after
// the other, so racks count more than an even load of brokers. Brokers that are
// fenced come last in their racks and never lead. One thing is not Kafka's: the rows
// skip a step where otherwise the same broker of a rack would lead again and again.
package placement
