// Package sdktest is the conformance kit: it proves that a plugin keeps the contract of
// its kind, with the same cases for a value that is compiled in (Values), for the whole
// conversation in this process (InProcess), and for a program that is started as a
// broker starts it (Program).
//
//	func TestContract(t *testing.T) {
//		sdktest.Run(t, sdktest.Values(Plugin()), plugin.Partitioner, "by-region", `{}`)
//		sdktest.Run(t, sdktest.InProcess(Plugin()), plugin.Partitioner, "by-region", `{}`)
//		sdktest.Run(t, sdktest.Program(host.Command{Path: sdktest.Build(t, ".")}), plugin.Partitioner, "by-region", `{}`)
//	}
//
// Check is the same without testing: `mortise plugin check` prints its Report.
//
// It owns the cases and the questions that they ask. What a plugin is for it can't
// know: Facts tell it what else it may ask (a user and a password that are right).
// It must not know any plugin, nor a broker. It may import the contracts, package
// host, and of the conversation what a program's start needs.
//
// Cases have names of two parts. "launch" is about a process: how it starts, what it
// prints, how it ends. "base" is about what every plugin does: describe itself, refuse
// configs, live as several instances. "robust" asks a lot at once, too little, too
// much, and with too little time. The rest has the name of a kind, and follows the
// numbered obligations of its package.
//
// Invariants:
//
//   - A plugin can neither hang nor crash the kit: every call has a deadline and a
//     grace after it, and a panic of a value that is compiled in is a failure.
//   - Questions are drawn from a fixed seed, so that a failure comes again.
//   - A case that can't be decided for this plugin or this way is a skip with a reason,
//     never a pass.
//   - Secrets that it asks with are made up, except for those in Facts; none is in a
//     Report.
//
// One Check runs its cases one after another; several Checks may run at once, but the
// counts of goroutines and memory of Values and InProcess then disturb each other.
//
// Lock order: journal.mu alone; it covers memory only.
package sdktest
