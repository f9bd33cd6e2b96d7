// Package api answers Kafka's requests: one file per API key, named by its
// number, with a header that says which versions, what it does and what it
// deliberately does not.
//
// It owns the meaning of requests: the order of checks, the error codes and texts,
// who is asked for permission, which keys and versions exist (table.go, which also
// drives ApiVersions). It must not know how bytes travel (server), how a log is
// stored (commitlog) or how the cluster decides (behind meta.Control).
//
// To add a key: write NN_name.go with a handler method, add a line to table.go,
// record a transcript (conformance).
//
// Invariants:
//   - A handler answers its request exactly once, and never blocks the goroutine
//     that it is called on: what asks the cluster or the file system runs in the
//     background (background.go), bounded for the process, in order for each
//     connection.
//   - A key is in the table when all of its versions are complete, and not before.
//   - An error becomes a code in one place (errors.go), and texts of Kafka's are
//     Kafka's.
//
// Lock order: topicCreator.mu before background.mu. These and the locks of the data
// plane are not held while work runs or anything outside is called, but for fetchSession.mu:
// under it a follower's session begins and ends to watch lists of the purgatory. Those tell
// it of moves under standing.mu alone, a leaf.
package api
