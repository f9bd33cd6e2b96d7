// Package controller is what the leader of the control plane does besides writing down
// decisions: it watches brokers, fences those that are gone, lets those stop that want
// to, brings leaders back to the preferred replicas, and chooses the voters. It is also
// the heartbeat of every node.
//
// It owns sessions, suspicions and the choice of voters. It must not know raft, gossip
// or the network: those are functions in Options.
//
// # Parts
//
// Machine decides. It has no clock, no goroutine and no I/O: time, images, heartbeats
// and results go in, Actions come out, so that a test or a simulation steps it by hand.
// Loop runs one while this node leads. Beater runs on every node.
//
// # Sessions
//
// A broker sends a heartbeat every HeartbeatInterval; one that is silent for
// SessionTimeout is fenced (KIP-631). Sessions are in memory: a new leader gives every
// broker a new one. A leader that itself stood still does not count that time.
//
// # Suspicion
//
// Nine seconds are long for clients, so gossip may shorten them, and nothing else: a
// broker that gossip has lost is pinged over the port that the control log uses, and
// fenced when PingCount pings in a row are not answered. A new leader pings everybody
// once, because it does not know what its predecessor died of. A broker that was fenced
// so comes back when it is heard of and answers a ping: a way that is cut in one
// direction must not make it come and go. Whoever comes back must have seen its fence
// in the control log first.
//
// # Full disks
//
// Heartbeats say whether a log directory of a broker has no room; that goes into the image
// when it changes (SetFull). Who is full is elected last, and preferred leaders don't go
// back to it. What it leads and can't append it gives away itself (meta.ISRChange.Full):
// only the broker knows which partitions are in which directory.
//
// # Voters
//
// One, three or five of the registered nodes vote, on as many racks as there are. One
// change is under way at a time; each leaves more than half of the voters alive. A
// voter that is gone for VoterReplaceAfter loses its vote to one that is there. A node's
// death alone never makes the number smaller: unregistering it does. Then who does not
// take part loses its vote before who does: another may have died a moment ago. A member
// that is no broker and does not answer is removed, by a later leader after 15 s.
//
// # Costs
//
// With 100 brokers and 100,000 partitions a heartbeat costs 0.2 µs and no decision, a
// second in which nothing happens 15 µs, and a look at preferred leaders 8 ms every five
// minutes, while any partition is not led by its first replica (BenchmarkHeartbeat,
// BenchmarkTick). A broker that is stopping costs a look at what has a replica there for
// each image, at most ten a second.
//
// Lock order: none; a Machine belongs to one goroutine.
package controller
