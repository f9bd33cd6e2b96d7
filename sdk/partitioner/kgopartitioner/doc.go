// Package kgopartitioner runs a partitioner.Partitioner beside a producer of franz-go:
// the same plugin that a broker checks batches with, or gateways use, compiled in or
// in a process of its own (package host).
//
//	p := kgopartitioner.New(plugin, kgopartitioner.Options{Deterministic: true})
//	client, err := kgo.NewClient(kgo.RecordPartitioner(p), …)
//
// It owns the way from a record to a question and from the answer to kgo. It must not
// know plugins or how they are reached. It imports kgo; the contract does not.
//
// A record with a key goes where the plugin says, or fails: an error, no answer in
// time, and one that breaks the contract never send it elsewhere, because that would
// break the order of its key. kgo then says that the choice was invalid, and Err says
// why. A record without a key, and an empty key that may go anywhere, stay together
// for a batch as kgo's sticky partitioner has it when the plugin says Any or fails.
//
// For records without a key kgo offers only partitions that can be written to, and
// counts those: the plugin is asked about that many.
//
// Costs: kgo asks record by record, and the producers of a topic wait for each other
// meanwhile. A deterministic partitioner's answers are remembered (0 allocs, a map
// look-up); a question is a call, or a round trip of a few tenths of a millisecond to
// a plugin in a process of its own. Learn asks about many keys at once before they
// are produced.
//
// Lock order: kgo's lock of a topic, then memory.mu. No lock is held over a question
// of ours.
package kgopartitioner
