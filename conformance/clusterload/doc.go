// Package clusterload runs three real nodes as processes on loopback under producers
// and consumers, breaks one node after the other, and watches what clients see.
//
// It owns these promises:
//
//   - what was acknowledged with acks=all and min.insync.replicas=2 is there once, in
//     order, whatever happens to one node: killed, stopped for a while, cut off from the
//     others, slow, or with a new disk (trouble_test.go);
//   - after it, every replica has the same bytes;
//   - produce goes on 3 s after the leader's process was killed at the latest, and 200 ms
//     after it was stopped in order (failover_test.go);
//   - a node that was alone becomes three, then five, and three again, while clients work
//     (grow_test.go);
//   - 10,000 partitions with three replicas cost idle nodes next to nothing, and those of a
//     killed node take records again within 5 s (scale_test.go).
//
// Other nodes reach a node through proxies here, which cut and slow what comes in (not
// what it sends by itself, nor gossip). It must not know how the cluster does it: what
// it sees is the Kafka protocol.
//
// Processes take their time: nothing but the proxy is tested unless a flag names the
// program, as `make conformance` and `make soak` do.
//
//	-mortise F   the program
//	-for D       how long the run of faults takes (default: 3 faults)
//	-faults N    faults of the run, with -seed
//	-partitions N how many TestScale measures; it runs with this flag only
//	-strict      hold failover and scale to their bounds, on a machine that does nothing else
package clusterload
