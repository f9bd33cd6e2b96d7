// Package nodetest runs a whole node inside a test: a broker with its real
// control plane, in a directory of the test and on a loopback port. Transcripts
// of a real Kafka are replayed against it.
//
// It owns the harness and nothing else.
package nodetest
