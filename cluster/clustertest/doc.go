// Package clustertest simulates a cluster in one goroutine: nodes with disks in memory,
// a network, a control log and clients, all moved by one loop of events in a time of
// its own, with one source of chance. One seed is one run, whatever the machine.
//
// It owns the world around the replicas: time, messages, faults, the control log, the
// clients, and the checkers. What is real in it is the code that decides:
// cluster/metadata and core/meta for the cluster's state, cluster/controller for who is
// fenced and who leads, and the replicas of core/replicatest: the real ones on disks in
// memory, or a model of the rules alone. It must not know how a replica works inside.
//
// The control log is a simulated one: linearizable, as raft makes it, but slow at
// times; it loses its leader and decisions that were under way, and answers get lost.
//
// The contract that the checkers hold the cluster to, as long as elections are clean:
//
//   - What was acknowledged with acks=all is never lost, and nothing is there twice
//     that an idempotent producer sent once.
//   - Below a high watermark that anybody had, every replica has the same bytes.
//   - Whoever may be elected, out of ISR or ELR, has all that is committed.
//   - A high watermark does not go back while a process runs, nor the end of a
//     partition as a reader sees it.
//   - An epoch has one leader, the ISR is within the replicas, images only go forward.
//   - Nobody who is not registered is in an ISR or ELR, leads, or becomes a replica.
//   - A log starts at most where somebody asked for records to be deleted, or retention
//     has deleted them, and at its high watermark, on a leader never before where it was,
//     and has no hole behind that. So records are gone that were deleted, and no others.
//   - After the last fault everything is in sync again in a bounded time: all replicas are
//     on nodes that are there, the control log has as many voters as it should, and nobody
//     who left is one of its members.
//
// Nodes hear of decisions, and take their roles, at different times, and may miss some:
// who leads again may never have heard that it did not lead in between.
//
// Nodes come and go: new ones join with empty disks and get partitions; others are drained
// and leave, or die and are given up, and may join again with their old disks or new ones;
// a broker that lives may be unregistered by mistake. Votes in the control log follow as
// cluster/controller says. Three to six nodes are there at a time. One leaves only while
// all that it has is in sync elsewhere too and a majority of the voters stays.
//
// Records are deleted by DeleteRecords and by retention, also those that a follower still
// lacks. What was deleted may be there again after a crash: where a log starts is written
// down some seconds later, as in Kafka. A replica that begins anew behind what was deleted
// knows nothing of the producers before: of them, repeats are no fault.
//
// Any number of processes may be killed, cut off, paused or slowed down; one replica at
// a time may lose what was not on its disk, or its disk.
//
// Disks are full at times. Nodes say so, others are elected before them, and what they can't
// append they leave to others, as brokers do; a replica whose log fails leaves, too.
//
// What stopped without order counts as one that may have lost records (KIP-966), so that
// nobody else is stopped until what a node lost is in sync again. With
// min.insync.replicas 1, and where unclean elections are allowed, records may be lost
// with a disk: such partitions are only held to come back.
//
// TestScale has a fleet of brokers without logs in its place, of any size: it counts what
// travels to each node, and what is copied, for each kind of change. With 100 brokers and
// 100,000 partitions in 1,000 topics a snapshot has 2 MB; a change of one ISR is 57 bytes
// to each node, a broker that is lost 11, and that one is back 116 kB for the 3,000
// partitions that take it back.
//
// A run that failed is told by its seed, and make simulate looks for more:
//
//	go test ./cluster/clustertest -run DiskSeeds -seed 1234 -story -v
package clustertest
