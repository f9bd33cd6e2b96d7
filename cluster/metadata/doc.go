// Package metadata is the state machine of the cluster: Apply takes an image and
// a command and gives the next image and what to tell the asker.
//
// It is pure. It must not know raft, the clock, a random source, files or
// goroutines: whatever is random or timed (topic ids, seeds) is in the command,
// put there by the node that proposed it. The same commands give equal images on
// every node; a node that is caught up from a snapshot has the same image as one
// that saw every command.
//
// It owns the commands, their encoding, that of their results, which travel to the
// node that asked, and the encoding of a snapshot.
//
// # Encoding
//
// A command is
//
//	+---------+------+----------+-----------------------+
//	| version | kind | CRC-32C  | CBOR of the command   |
//	| 1 byte  | 1    | 4        | (RFC 8949, core det.) |
//	+---------+------+----------+-----------------------+
//
// (the log below verifies only its last write when it opens, so a bit that
// flipped in an older entry is found here) and a snapshot
//
//	+------------+---------+--------+---------+----------+----------+--------+--------+---------+
//	| "MRTSNAP"  | version | header | brokers | features | configs  | topics | ACLs   | plugins |
//	| 7 bytes    | 1 byte  | CBOR   | CBOR …  | CBOR …   | CBOR …   | CBOR … | CBOR … | CBOR …  |
//	+------------+---------+--------+---------+----------+----------+--------+--------+---------+
//
// with one CBOR item per broker, feature, config, topic, access rule and plugin, their counts in the
// header, each kind in the order of its names: an image has exactly one
// encoding, so two images are equal when their snapshots are. A result is one byte of
// version and one CBOR item. The writer holds
// one item at a time in memory, whatever the cluster's size. Fields are numbered
// maps: a field may be added, a number is never used again. An unknown field,
// kind or version is an error, because a node that skipped it would no longer
// agree with the others.
//
// # When leader epochs rise
//
// A leader epoch says: these offsets were written by one leader that never lost any
// of them. It must rise whenever an offset could be written a second time with other
// records, or consumers and followers could not tell the two apart (KIP-101,
// KIP-320). A broker that stopped cleanly starts with the very log that it stopped
// with, so its epochs stay. After any other stop it may have lost its tail: then
// every partition that it leads gets a new epoch before it serves (RegisterBroker
// without CleanShutdown). Files that came from another cluster may hold later epochs
// than this one gave: epochs then go beyond those (LaterEpochs).
//
// Elections raise epochs too: when a broker stops, its leaders move away. What a lone
// broker has does not move, so a clean start of it changes nothing: to raise epochs
// there would be safe and useless, one change per topic in the control log and one
// epoch file per partition (3 s for 10,000) at every start, and a refresh of metadata
// in every client.
//
// # Brokers and replicas
//
// What becomes of partitions is decided by meta.Draft and meta.Partition.Next, as in
// every decider. Commands about brokers name the registration that they mean by its
// epoch; one that came too late changes nothing. The scenarios in testdata tell the
// rules.
//
// Cost: a topic of one partition on three brokers is about 45 bytes of command
// and of snapshot. Applying costs what is touched, not what there is; but a broker
// that is fenced, stops or starts uncleanly costs a look at the partitions that have a
// replica there and a copy of the topics that change: 20 ms for 100,000 partitions in
// 1,000 topics, 30 ms in 100,000, of which 3,000 change (BenchmarkBrokerGoes; nearly all
// of it is the copies). A change of one ISR copies the partitions of its topic: 10 µs, and
// 0.2 ms for one of 10,000 partitions.
package metadata
