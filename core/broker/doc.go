// Package broker is the broker as a library: Options, New, Start, Close. It is
// wiring and nothing else: what is done is in the rooms below.
//
// It owns the order of starting and stopping, the listeners' sockets until the
// server has them, and the lines that a start logs. It must not know how the
// cluster decides: it gets a meta.Control. It opens no files itself.
//
// # Order
//
// Start: the admin listener, so that /readyz can tell how recovery goes; the log
// directories (their locks refuse a second broker); every partition of the
// present image, recovered in parallel; the client listeners' sockets; the
// registration, which raises leader epochs after a crash; the roles of the image
// that includes it; the plugins, for which it waits a while but does not fail; and
// only then the first connection is accepted. So no client
// ever meets a broker that does not know its partitions. Last, leaders are fetched
// from, and followers watched.
//
// Close goes the other way: no new connections, answers out, retention and
// compaction stopped, waiting requests completed, plugins ended, nothing fetched nor
// asked of the cluster any more, logs flushed and closed,
// checkpoints and the mark of a clean shutdown. When the context ends before, what
// is left is closed as it is, and the next start recovers.
//
// What groups have committed is known to the brokers that coordinate them. A retention
// rule that wants to know it makes its broker ask all of these (committed).
//
// A change of the cluster that came through this broker is answered once its
// roles are applied here (settled), so that a client that made a topic can write
// to it with its next request.
package broker
