// Package timesize is Kafka's retention: by age (retention.ms) and by size
// (retention.bytes).
//
// It owns that arithmetic and nothing else: no clock, no disk. It imports
// sdk/storage and the standard library.
//
// A segment's age counts from its largest record timestamp, as in Kafka, with
// one difference on purpose: a timestamp later than the broker's clock counts as
// the time at which the broker last wrote the segment. A single record dated far
// in the future would otherwise keep a whole log for ever.
package timesize
