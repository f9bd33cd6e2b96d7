// Package partitioning looks whether keys of batches that arrive are on the
// partition where the topic's partitioner would have put them. Producers in two
// languages that hash differently break the order of a key, and nothing else in the
// system can see it.
//
// It owns the look inside a batch and the counting. It must not know requests nor
// where partitioners live. It is asked only for topics that want it
// (mortise.partitioner.check), and changes no byte.
//
// What is looked at: records with keys. A null or empty key may be anywhere. A batch
// that can't be read is not judged here: the checks of the log refuse it.
//
// A partitioner that gives no answer is no verdict: the batch is counted as
// unchecked, or, where wrong ones are refused, refused with NOT_ENOUGH_REPLICAS. That
// code makes every client try again, and says that nothing was written, so that a
// producer may give up when its delivery timeout has passed. REQUEST_TIMED_OUT does not:
// after it an idempotent producer can't know, and kgo's then never gives up.
//
// A topic that has grown looks wrong to producers that have not noticed yet: count
// before you reject, and let metadata.max.age.ms pass after a change.
//
// Cost for a topic that is checked: a walk over its records, which decompresses a
// compressed batch once more, one hash a key, and one allocation a batch. For all
// others: one comparison a batch.
package partitioning
