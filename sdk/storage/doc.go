// Package storage holds the contracts of plugins that decide about stored
// segments. Retention says which of a log's oldest segments may go; Tier, a draft that
// no broker asks yet, keeps sealed segments elsewhere.
//
// It owns the questions and the answers. It must not know how a segment looks
// on disk, and it sees no record. It imports only the standard library.
//
// Obligations of a Retention. The core checks each verdict again, and a verdict
// that breaks a rule is dropped: the data stays.
//
//  1. Decide is pure: the same facts give the same verdicts. Time comes from
//     LogFacts.NowMS, never from a clock.
//  2. A verdict names a log of the question, with the leader epoch it was asked
//     with, and at most once.
//  3. DeleteOldest counts whole segments from the oldest. There are no holes.
//  4. Nothing at or beyond min(HighWatermark, LastStable) goes.
//  5. The active segment goes only together with all others, and only when all
//     of it may go; the core rolls a new one first.
//  6. A log without a verdict keeps everything. An error keeps everything of
//     every log in the question: losing data is worse than keeping it.
//  7. Decide returns soon after ctx is done.
//  8. Decide is safe for concurrent use and keeps neither the facts nor their
//     slices after it returned.
//  9. Once its verdicts are executed, the same Decide at the same time asks for
//     nothing more.
//
// LogFacts has methods for what most rules need: which segments may go at all
// (Deletable keeps obligations 4 and 5), how old one is, and a walk over them (While).
package storage
