// Package clusterload runs three real nodes as processes under producers and consumers in
// Go and Java, breaks one node after the other, and watches what clients see.
//
// It owns these promises:
//
//   - what was acknowledged with acks=all and min.insync.replicas=2 is there once, in
//     order, whatever happens to nodes, also several things at the same time: killed,
//     restarted, stopped for a while, links cut in one direction or both, slow links, a
//     full disk, a new disk (trouble_test.go, fault_test.go, linkfault_test.go);
//   - after it, every replica has the same bytes;
//   - produce goes on 3 s after the leader's process was killed at the latest, and 200 ms
//     after it was stopped in order; members of the groups that a killed process
//     coordinated are still known after those 3 s, and commit (failover_test.go);
//   - what a node leads whose disk becomes full others lead while it is, and no partition
//     takes no records for longer than 2 s (fulldisk_test.go);
//   - a node that was alone becomes three, then five, and three again, while clients work
//     (grow_test.go);
//   - 10,000 partitions with three replicas cost idle nodes next to nothing, and those of a
//     killed node take records again within 5 s (scale_test.go).
//
// On Linux, as root, each node of the run of faults has a network of its own, and this
// process is the switch between them (wires_linux_test.go): what a cut link takes is lost,
// gossip too, and nobody is told. Its disk is a file system in memory, which can be full
// (disk_linux_test.go). Elsewhere nodes reach each other through proxies (proxy_test.go),
// which close connections and slow what comes in, and disks are never full.
//
// When something is wrong, the logs of the nodes, their disks, and faults.log with what was
// done when, are copied to a folder that the test names. Tables at the end say how long
// clients waited, how long it took until all replicas were in sync, and what nodes took.
//
// The room must not know how the cluster does it: what it sees is the Kafka protocol, and
// what the system says of processes.
//
// Processes take their time: nothing but the proxy is tested unless a flag names the
// program, as `make conformance` and `make soak` do.
//
//	-mortise F     the program
//	-faults N      faults of the run (default: 3), with -seed; -kind K: those only that have K in their name
//	-for D         how long the run takes at least; the faults are spread over that time
//	-java PATH     class path of the Java client; without it none takes part
//	-partitions N  how many TestScale measures; it runs with this flag only
//	-strict        hold failover, full disks, scale and the time until all are in sync to their bounds, on a machine that does nothing else
package clusterload
