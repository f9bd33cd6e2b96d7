// Package timesize is Kafka's retention: by age (retention.ms) and by size
// (retention.bytes).
//
// It owns that rule and nothing else: no clock, no disk. It imports sdk/storage.
//
// A segment's age counts from its largest record timestamp, as in Kafka, with
// one difference on purpose: a timestamp later than the broker's clock counts as
// the time at which the broker last wrote the segment (LogFacts.AgeMS).
//
// Both limits are asked about each segment in turn, from the oldest. Kafka walks once
// for each limit; what it would delete in its next round, because a young segment that
// stood before an old one went by size, goes in this one.
package timesize
