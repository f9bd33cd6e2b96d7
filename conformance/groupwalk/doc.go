// Command groupwalk takes seeded random walks through the operations of consumer
// groups on a real Kafka and on Mortise at the same time, and compares every answer.
//
//	go run ./conformance/groupwalk -kafka localhost:9092 -mortise localhost:9093 -seed 7 -for 60s
//	go run ./conformance/groupwalk -kafka localhost:9092 -mortise localhost:9093 -seed 1 -groups 24 -record conformance/groupwalk/testdata
//
// It owns what a walk is: a script of symbolic operations ("join s1 v5 id=cur") that
// depends on the seed and the number of the group alone, and a trace: the script with
// the answers below the operation after which they came. Member ids, which brokers
// make, are named by slot: the second id that slot 1 got is s1.2. Two brokers agree
// when the traces are equal, so errors, generations, epochs, states, assignments and
// the moment at which a parked request is answered are all compared.
//
// Hundreds of groups walk side by side: each sends one request a round, and a round
// ends when both brokers have been quiet for a while and have answered the same
// requests. Groups with short timeouts ("timed") walk in strides of a few rounds with
// a pause in between that is longer than chains of their timeouts. A difference counts
// when it shows again in walks of that group alone, at last with longer timeouts, which
// a busy machine keeps; then the script is cut to what is needed and printed with both traces and the command that repeats it.
//
// Recorded traces in testdata replay against a broker in this process (TestRecorded),
// in a bubble whose clock makes pauses free. They are recorded from a real Kafka and
// never edited; a trace in which two timers of a group ended at the same moment is left
// out, since which came first was chance.
//
// What Kafka leaves to chance ends the walk of that group, and is counted: which
// member leads when the leader of a classic group is gone (it takes the first of a
// hash table of random ids). So does a parked request that Kafka forgets when its
// member is removed, and that Mortise answers. Scripts keep clear of what the order of
// Java's hash tables decides in the assignor "uniform"; room assignor is compared with
// Kafka's classes by a test of its own.
//
// It must not import any room of the broker outside tests.
package main
