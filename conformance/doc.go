// Package conformance holds what decides that Mortise is right: transcripts recorded from a real Apache Kafka 4.4 and
// the runs of real, unmodified clients.
//
// It owns testdata (the transcripts), record (the command that rewrites their answers from a real Kafka), oracle (how
// to start one), clients (what real clients do, started by run.sh) and groupwalk (random walks of groups on a real Kafka
// and on Mortise). The test of this package replays every transcript against a Mortise in this process and needs no
// Java; those of testdata/secured want logins, those of testdata/three three brokers. testdata/kgo is put beside the
// tests of kgo, which count there what kgo tells of brokers that are lost (clients/kgo.sh).
//
// Invariants: a transcript depends on no other; its topics have a prefix of its own, so that one broker can play all.
// Nothing outside tests may import this package.
package conformance
