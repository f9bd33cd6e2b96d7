// Package cluster puts a broker and its seat in the control plane together: a
// Node. It owns the data directory as a whole (its lock, where the control log
// and the logs of partitions are in it) and the order in which the parts start
// and stop. What the parts do is theirs.
//
//	DIR/.lock        held while the node lives; holds its process id
//	DIR/admin.token  what changes through the admin listener need
//	DIR/control/     log, votes and snapshots of the control plane
//	DIR/logs/        partitions, unless the config names other directories
//
// # Others
//
// A node with a peer port may have others: it gossips (cluster/membership), sends the
// heartbeats of its broker, and watches all brokers while it leads the control plane
// (cluster/controller). It starts to gossip once its image is the cluster's, and to send
// heartbeats once its broker has registered. When it stops, others first take over what
// they can, then gossip is told, while clients are sent away; the seat goes last. People
// give peer addresses only: who gossips where is asked over the peer port.
//
// # Costs of deciding
//
// Every change of the cluster is one command in the control log and costs one
// fdatasync, whatever it makes; concurrent ones share it. Counted and measured
// on two cores with a fast virtual disk:
//
//	leader after opening an empty directory      4 ms   (~10 fsyncs: files, vote, first term)
//	leader after opening an existing directory   1.5 ms (3 fsyncs: term, vote, first entry)
//	one small command                            0.13 ms (1 fdatasync)
//	1,000 topics in one command                  6 ms   (1 fdatasync)
//	snapshot of 100,000 partitions               1.1 MB, 40 ms to write, 40 ms to read
//
// On a busy disk an fdatasync is 1 to 3 ms and these grow with it.
//
// A change reaches the partitions as a new image: the control log applies it,
// the broker's reconciler compares it with the last one. An image shares what
// did not change with the one before, so a change costs what it touches.
package cluster
