// Package purgatory keeps requests that wait for progress: fetches for bytes,
// others for time. A waiter is linked to one List per partition and is finished
// by the first of: enough bytes became visible, a Nudge (the partition changed
// its role or its log), the deadline, Cancel, Close.
//
// It owns who waits, for how long, and the waking. It must not know what a fetch
// is, nor read a log.
//
// Who looks at many lists over and over, as the fetches of a follower do, watches them
// (Watcher): then it knows which of them moved, and waits at one list of its own.
//
// Costs. Advance is what the appender calls: one atomic add and a call of each watcher, and
// nothing more when nobody waits; otherwise the list is queued for a worker at most once. The
// appender never walks waiters and never takes a list's lock. Workers are started
// on demand, at most maxWorkers, and end when nothing is queued. One timer serves
// all deadlines, which are rounded up to a millisecond; when nobody waits it is
// not armed. An idle list costs its own few words.
//
// Invariants:
//   - A waiter is finished exactly once per Park that returned Parked.
//   - Completers run without any lock of this package held.
//   - Progress between Entry.Seen and Park is never lost, a Nudge included: Park
//     links first and looks at the progress then; Advance adds first and looks at
//     the links then.
//   - A waiter may be parked again as soon as it is finished, even while the Park
//     that it was finished of has not returned.
//
// Lock order: List.mu and Purgatory.mu are leaves; neither is taken while the
// other is held.
package purgatory
