// Package consensus is the seat of a node in the control plane: a raft group
// whose log holds the commands of cluster/metadata. It implements meta.Control
// and meta.Registrar.
//
// It owns the control directory (log, votes, snapshots) and the goroutines of
// raft. It must not know what a command means, nor anything of partitions' data.
//
// # Start of a lone voter
//
// Whatever is in the log of a group's only voter is committed: nobody else could
// have decided otherwise. So Open reads the newest snapshot and the log after it
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
// # Damage
//
// A torn last write is cut off, as it was never acknowledged. Anything else that
// can't be read stops the start with an error that names the file: a broker that
// forgot topics must not serve. raft-wal checks only the last write when it
// opens; every command and snapshot therefore has its own checksum, and the
// index that was reached at the last orderly end is kept beside the log, to tell
// a log that lost its tail from a shorter one.
//
// Lock order: Group.mu is held for a few instructions, under no other lock.
package consensus
