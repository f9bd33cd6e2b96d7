// Package consensus is the seat of a node in the control plane: a raft group
// whose log holds the commands of cluster/metadata. It implements meta.Control
// and meta.Registrar.
//
// It owns the control directory (log, votes, snapshots), the goroutines of raft, and
// what nodes say to each other about it: who joins, what the leader shall decide, how
// far it is. It must not know what a command means, nor anything of partitions' data.
//
// # Many nodes
//
// Every node holds the image, as a voter or not. A decision may be asked for anywhere:
// the encoded command goes to the leader (KindPropose), its result comes back with the
// index of the leader's image, and the call returns when the image here has that. No
// request is forwarded, only its decision, so who may ask for it was settled where it
// arrived. The principal goes along all the same, so that both nodes log who changed
// what. When there is no leader a call waits for one for 5 s. What it says then tells a
// client to ask again: NOT_CONTROLLER when nothing was decided, and REQUEST_TIMED_OUT
// when that is not known.
//
// A node with an empty directory begins a cluster, or, if it is told whom to join,
// never does: it asks (KindJoin) until the leader has made it a member without a vote,
// and only then starts raft. The leader refuses another cluster's node, and a second
// one with an id whose first one answers at another address. Clusters are told apart by
// meta.Image.Identity, which is new with each founding. A voter that comes back
// with an empty disk loses its vote, because it has forgotten whom it voted for. Who
// gets a vote is not decided here (cluster/controller), but a vote is given only to a
// node that has nearly everything, and a leader that shall lose its own hands the
// leadership on first.
//
// Addresses are looked up for each connection: gossip, what a node said when it last
// dialled here, the image, and what it said when it joined. Nodes may move.
//
// # Start of a member
//
// What is in the log of one voter of several may have been taken back by the others
// meanwhile. So its image starts from the newest snapshot and from what it had reached
// at its last orderly end, which was decided; the rest comes from the leader, and
// Current waits for that. The entries after it are looked at all the same, for damage
// and for the cluster's id.
//
// A node that was removed hears of no leader, or of nothing that one decides. Whoever waits
// for the control plane asks to be let in again meanwhile, at the addresses to join and at
// those of all that it knows of: a start (CatchUp), and a registration that nothing came
// back of (RegisterBroker). It comes back without a vote.
//
// # Start of a lone voter
//
// Whatever is in the log of a group's only voter is committed: nobody else could
// have decided otherwise. Whether a node is one is read from the last members that
// its log names, decided or not: an entry that gives it company counts from the
// moment it is written, as in raft. So Open reads the newest snapshot and the log after it
// before raft starts, and Image is the truth at once; raft's own replay, which
// has to wait for the election, skips what is there. The election does not wait
// for a timeout either: the node sends itself raft's TimeoutNow, as in a
// leadership transfer, so that timeouts can be those of a real cluster.
//
// # Costs
//
// One command is one fdatasync of the log, whatever it makes: 1,000 topics are
// one. Commands that are proposed at the same time share one. A first start
// writes the vote store (about ten fsyncs with the files' creation), each later
// one a term, a vote and raft's first entry (three). The log is preallocated in
// segments of 4 MiB, not raft-wal's 64. An idle group wakes up twice a second.
// Measured on two cores (TestStartIsFast, BenchmarkCommand): leader 4 ms after
// Open of an empty directory, 1.5 ms after Open of an existing one; 1,000 topics
// in one command 6 ms; one small command 0.13 ms on a fast virtual disk.
//
// With three voters a command costs one fdatasync on two of them at the same time and
// one exchange, through a follower one exchange more (BenchmarkCommandOfThree on a busy
// machine: 0.6 ms and 1.2 ms; 94 ms through a follower if it had to wait for raft's own news). A leader that is gone is replaced
// after 0.7 to 1.4 s of silence, one that stops in order at once. A node that is
// back after any time gets what it missed within half a second (seat.go).
//
// # Damage
//
// A torn last write is cut off, as it was never acknowledged. Anything else that
// can't be read stops the start with an error that names the file: a broker that
// forgot topics must not serve. raft-wal checks only the last write when it
// opens; every command and snapshot therefore has its own checksum, and the
// index that was reached at the last orderly end is kept beside the log, to tell
// a log that lost its tail from a shorter one.
//
// Lock order: Group.mu and seat.mu are held for a few instructions, under no other lock.
package consensus
