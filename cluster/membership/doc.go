// Package membership is how nodes find and miss each other: gossip, by
// hashicorp/memberlist.
//
// It owns the gossip port (packets and streams), the key ring, what every node says of
// itself (Facts), and the loop that finds lost members again. It must not know raft,
// sessions or partitions: gossip decides nothing. That a node went silent here is a
// Suspected call, and whoever gets it looks for itself before it does anything.
//
// # Why members stay found
//
// The library forgets a member some time after its death, and two halves of a network
// that was cut for longer never look for each other again. So every RejoinInterval this
// room talks to some of those that it has ever known and that are not alive, and, while
// it is alone, to the seeds.
//
// # Who is let in
//
// What arrives from the network is checked before it is believed: facts have at most
// FactsMax bytes of CBOR with known bounds, the name of a member is the id in its facts,
// and its cluster is this one. Members of other clusters and members that have this
// node's id are ignored, and joining them fails with ErrForeign or ErrDuplicate. At most
// membersMax nodes are remembered. With keys, who does not have one of them can say
// nothing at all; without, whoever reaches the port can make noise, which costs pings,
// and can have so many nodes remembered that no new one gets in.
//
// # Suspicion
//
// A node probes one other every probeInterval, in turns; one that does not answer, not
// even over others or over a stream, is suspected, and dead after three more intervals,
// or six if nobody else finds the same, unless it objects. In a cluster of three that is
// at most 1.5 s after it fell silent. That is quick and sometimes wrong on a busy
// machine, which is fine for something that only asks others to look. A node that sends
// and does not hear accuses everybody; nobody confirms it, the accused object at once,
// it slows down by itself, and whom others call dead is asked before anybody is told.
//
// # Costs
//
// Idle, a node sends about four packets a second and answers as many, whatever the
// size of the cluster.
//
// Lock order: memberlist's own locks before Membership.mu, which is a leaf. Suspected is
// called under the former: it must not block, nor call this room.
package membership
