// Package isr is what the leader of a partition knows of its followers: how far each
// has come, which of them are in sync, what is committed because of that, and which
// change of the in-sync replicas (ISR) it should ask for.
//
// It is pure: no clock, no lock, no log, no network. Time, the log end and who may
// join come in with each call. It must not know how a change is asked for, nor who
// waits for the high watermark.
//
// Two sets count (KIP-497). The committed ISR is what the cluster has agreed on:
// min.insync.replicas is compared with it. While a change is asked for and nobody
// knows whether it was made, the maximal ISR, the union of both, holds the high
// watermark: every leader that the cluster may elect has what is committed.
//
// Invariants:
//   - The leader is in every ISR that it asks for.
//   - At most one change is asked for at a time.
//   - HighWatermark is never less than the one it is given, and not beyond what any
//     member of the maximal ISR has fetched; it stands still while the committed ISR is
//     smaller than min.insync.replicas (KIP-966).
//   - What a follower of an older broker epoch says is not heard (KIP-903).
//
// A State is used by one goroutine at a time.
package isr
