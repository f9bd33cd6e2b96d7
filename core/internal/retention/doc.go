// Package retention deletes what is too old or too much: it shows the facts about
// logs to an sdk/storage Retention, checks each verdict, and executes it. It also
// forgets producers that have been silent for too long.
//
// It owns when that happens and what a verdict may do. It must not know the rule
// itself: time and size are a plugin's arithmetic.
//
// A topic names its rules in mortise.retention.plugin, and a segment goes when all of
// them let it go; a topic that names none has the broker's own rule. Nothing younger
// than mortise.retention.min.ms goes by a plugin. A rule that gives no answer keeps
// everything, but where the disk is nearly full the broker's own rule takes its
// place: a full disk stops every partition on it.
//
// The core distrusts verdicts. One is dropped, and the data stays, when it names
// no log of the question, names one twice, was made for another leader epoch, or
// asks for more segments than there are or than lie below
// min(high watermark, last stable offset). An error, a late answer and a panic
// keep everything, and so do offsets of groups that are not known while a rule wants
// them (storage.FeatureCommitted): it is not asked then.
//
// Costs: one timer for the broker, nothing per partition between rounds. A round
// looks at the segment list of every log that this broker leads and that may
// delete, pageSize logs at a time.
//
// Invariants:
//   - Only whole oldest segments go, the active one only after a roll.
//   - Rounds never overlap.
//
// Lock order: Scheduler.round before Scheduler.mu. Scheduler.round is held over a
// round; only timer and Close take it.
package retention
