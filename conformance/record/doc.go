// Command record plays transcripts against a real Kafka and rewrites their answers in place.
//
//	go run ./conformance/record -addr localhost:9092 [FILE...]
//	go run ./conformance/record -addr localhost:9092 -three DIR [FILE...]
//
// Without files it records all of conformance/testdata. The broker should be fresh: transcripts create their topics.
package main
