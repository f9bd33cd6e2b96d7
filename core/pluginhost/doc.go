// Package pluginhost supervises plugins: it runs what a catalogue says, keeps one
// generation of each entry in service, and gives the rest of the broker typed
// handles whose calls are answered, within a deadline, by whoever serves now.
//
// It owns processes and compiled-in instances, their generations, deadlines, limits,
// breakers, restarts, upgrades and their logs. It must not know what an answer is
// used for: each user of a kind has a failure policy of its own and decides it by
// the errors of errors.go. How a process is started and asked is package sdk/host,
// behind Launcher.
//
// # Life of a generation
//
//	launch → describe → validate → configure → rules → canary → in service
//	  → retired (no new calls) → drained → closed → stopped
//
// Describe must say the kind, name and version of the entry; the canary is a made-up
// question of the kind with a checked answer. Whatever fails before service leaves
// the generation before in service, and says why in Status.
//
// An upgrade never stops before it starts: the next generation is published, then
// the one before is retired. For the bake time it stands by, drained and alive, and
// comes back by itself, without a start, if the next one crashes, opens its breaker,
// grows over its memory limit or fails much more often. Calls that would find the
// crashed one wait for it. After the bake time it is stopped; its entry is kept for
// Rollback, and a copy of its program (Options.Keep).
//
// A process that ends by itself is started again after 250 ms to 30 s, at most five
// times a minute, then it has failed until an operator restarts it or its entry
// changes. One that hangs (three canaries of an open breaker, or three health
// checks) is ended and counts the same. One over its memory limit is replaced like
// by an upgrade and counts too. No fault of a plugin stops the broker.
//
// # Calls
//
// handle → slot → generation: three atomic loads, a breaker, a place among those
// that run (or a bounded wait for it), the call, a check of the answer. A call ends
// within the entry's deadline, counted from its begin. A call that lost its
// generation is put again once if another one serves; nothing else is repeated.
//
// Compiled-in plugins are called behind recover. A partitioner is called on the
// caller's goroutine without any allocation, and nothing protects the caller from
// one that blocks. The other kinds run on goroutines of their own with copies, so
// that one that ignores its context costs its caller the deadline, and never more
// goroutines than the entry's concurrency.
//
// # Fail closed
//
// With an error, a Result is the zero one (reject) and decisions are zero (deny). An
// authorizer with auth.FeatureStore answers nothing before it has the cluster's
// rules, and nothing while it lacks the newest. Events of Watch carry epochs of the
// handle: they grow over generations, so that what a retired generation allowed is
// forgotten.
//
// # Invariants
//
//   - At most one generation of a slot is in service, and only the slot's supervisor
//     (one goroutine) changes which.
//   - A generation that was entered is neither closed nor stopped until the call is
//     out, or past its deadline by five seconds.
//   - Every process that was launched is stopped, also when Close gives up waiting.
//   - Numbers of generations grow.
//   - What waits, queues, retries or is kept has a bound with a name.
//
// # Lock order
//
// Host.mu, which covers the making of slots, before the registry's of metrics.
// slot.mu, breaker.mu, recent.mu and journal.mu are leaves: nothing is called
// while one is held. runDir.mu covers the making of directories. Tokens in channels
// (Host.applying, taken.token) are held over calls to plugins, which deadlines end;
// Host.applying before taken.token. slot.keeping is held over the copying of a file, by a
// goroutine that holds nothing else.
package pluginhost
