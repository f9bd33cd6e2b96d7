// Package reconcile turns each new picture of the cluster into roles: it opens
// and creates logs, begins to lead, swaps configurations, and removes what was
// deleted. Followers are told what to fetch from whom. Roles is also the table in which
// requests find their partition.
//
// It owns which partitions exist on this broker. It must not know requests, and
// it decides nothing about the cluster: what the image says is done.
//
// Safety. A partition directory that belongs to no partition of the image, or to
// another topic id, is renamed to …-stray and kept; so is one with data and no topic
// id, which a power failure can leave when nothing was synced: the data may be those
// of a deleted topic of the same name. While a log directory is
// offline at the start, a partition that is not found elsewhere is not made anew:
// it answers KAFKA_STORAGE_ERROR, its data may be on the missing disk, also when its
// topic is looked at again. A log that
// can't be opened costs its own partition only.
//
// Costs: a lookup is one hash, one atomic load and one map access, without a lock
// or an allocation. Applying an image costs the work for what changed since the last one;
// a look at every topic only at the start, after a change of the broker's own
// configuration, and when so many images were missed that the new one does not know what
// changed since. Logs are opened and made by several goroutines.
//
// Invariants:
//   - AppliedIndex never goes back; when it is i, every partition of image i has
//     its role.
//   - One image is applied at a time, in the order of their indexes.
//   - A topic is out of the table before its logs are removed.
//   - A partition has its role before its followers are told, and they let go of it
//     before its log is removed.
//
// Lock order: Roles.apply (one apply at a time) before Roles.mu, which is a leaf.
// Roles.apply is held over disk work; only Start, Close and the watcher take it.
package reconcile
