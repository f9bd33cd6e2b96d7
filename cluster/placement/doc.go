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
// The rule is Kafka's (StripedReplicaPlacer), for now without racks: brokers in
// a row, a random place to start, one step further for each partition, and a new
// shuffle of the row once every place has been used, so that two partitions
// seldom have the same set of followers. Brokers that are fenced come last and
// never lead.
package placement
