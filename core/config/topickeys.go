package config

// Milliseconds of the units that some broker keys are in.
const (
	minuteMS = 60 * 1000
	hourMS   = 60 * minuteMS
)

// maxInt64 is Kafka's "never".
const maxInt64 = "9223372036854775807"

// compressionTypes are the values of compression.type in the order of Kafka's
// error text.
func compressionTypes() Check {
	return oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
}

// topicKey is a key of topics.
func topicKey(name string, t Type, def string, check Check, doc string, synonyms ...string) Key {
	return Key{Name: name, Type: t, Scope: TopicScope, Default: def, check: check, Doc: doc, Synonyms: synonyms, Live: true}
}

// topicKeys are the keys of topics in the order in which Kafka checks them
// (LogConfig), which decides which of several mistakes is the one that is told.
func topicKeys() []Key {
	return []Key{
		topicKey("segment.bytes", Int, "1073741824", atLeast(1<<20), "Size in bytes at which a segment file is closed and the next one begun.", "log.segment.bytes"),
		topicKey("segment.ms", Long, "604800000", atLeast(1), "Age in ms at which a segment is closed even when it is not full.", "log.roll.ms", "log.roll.hours"),
		topicKey("segment.jitter.ms", Long, "0", atLeast(0), "Up to this many ms are taken off segment.ms at random, so that segments of many partitions do not roll at once.", "log.roll.jitter.ms", "log.roll.jitter.hours"),
		topicKey("segment.index.bytes", Int, "10485760", atLeast(4), "Size in bytes of an index at which its segment is closed.", "log.index.size.max.bytes"),
		topicKey("flush.messages", Long, maxInt64, atLeast(1), "After this many records the log is flushed to disk; with 1, before each answer.", "log.flush.interval.messages"),
		topicKey("flush.ms", Long, maxInt64, atLeast(0), "No record stays longer than this many ms without being flushed to disk.", "log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
		topicKey("retention.bytes", Long, "-1", nil, "Bytes that a partition may hold before its oldest segments are deleted; -1: no limit.", "log.retention.bytes"),
		topicKey("retention.ms", Long, "604800000", atLeast(-1), "Age in ms at which a segment is deleted; -1: never.", "log.retention.ms", "log.retention.minutes", "log.retention.hours"),
		topicKey("max.message.bytes", Int, "1048588", atLeast(0), "Largest record batch in bytes, after compression.", "message.max.bytes"),
		topicKey("max.decompressed.message.bytes", Int, "2147483639", atLeast(1), "Largest record in bytes after decompression.", "max.decompressed.message.bytes"),
		topicKey("index.interval.bytes", Int, "4096", atLeast(0), "Bytes of log between two entries of an index.", "log.index.interval.bytes"),
		topicKey("delete.retention.ms", Long, "86400000", atLeast(0), "How long in ms a compacted topic keeps the markers of deleted keys.", "log.cleaner.delete.retention.ms"),
		topicKey("min.compaction.lag.ms", Long, "0", atLeast(0), "How long in ms a record stays uncompacted at least.", "log.cleaner.min.compaction.lag.ms"),
		topicKey("max.compaction.lag.ms", Long, maxInt64, atLeast(1), "How long in ms a record stays uncompacted at most.", "log.cleaner.max.compaction.lag.ms"),
		topicKey("file.delete.delay.ms", Long, "60000", atLeast(0), "How long in ms a deleted segment's file stays on disk.", "log.segment.delete.delay.ms"),
		topicKey("min.cleanable.dirty.ratio", Double, "0.5", ratio, "Share of uncompacted bytes from which on a log is compacted.", "log.cleaner.min.cleanable.ratio"),
		topicKey("cleanup.policy", List, "delete", setOf("compact", "delete"), "What happens to old data: delete, compact, both, or neither.", "log.cleanup.policy"),
		topicKey("unclean.leader.election.enable", Boolean, "false", nil, "Whether a replica that is not in sync may lead when no other is left, which loses records.", "unclean.leader.election.enable"),
		topicKey("min.insync.replicas", Int, "1", atLeast(1), "Replicas that must be in sync for acks=all to be accepted.", "min.insync.replicas"),
		topicKey("compression.type", String, "producer", compressionTypes(), "Codec that batches are stored with; producer keeps what the client chose.", "compression.type"),
		topicKey("compression.gzip.level", Int, "-1", gzipLevel, "Level of gzip when compression.type is gzip.", "compression.gzip.level"),
		topicKey("compression.lz4.level", Int, "9", between(1, 17), "Level of lz4 when compression.type is lz4.", "compression.lz4.level"),
		topicKey("compression.zstd.level", Int, "3", between(-131072, 22), "Level of zstd when compression.type is zstd.", "compression.zstd.level"),
		topicKey("preallocate", Boolean, "false", nil, "Whether a new segment's file takes its disk space at once.", "log.preallocate"),
		topicKey("message.timestamp.type", String, "CreateTime", oneOf("CreateTime", "LogAppendTime"), "Whose clock timestamps come from: the producer's or the broker's.", "log.message.timestamp.type"),
		topicKey("message.timestamp.before.max.ms", Long, maxInt64, atLeast(0), "How far in ms a record's timestamp may lie before the broker's clock.", "log.message.timestamp.before.max.ms"),
		topicKey("message.timestamp.after.max.ms", Long, "3600000", atLeast(0), "How far in ms a record's timestamp may lie after the broker's clock.", "log.message.timestamp.after.max.ms"),
		topicKey("leader.replication.throttled.replicas", List, "", throttledReplicas, "Replicas (partition:broker, or *) that the leader sends to at a limited rate."),
		topicKey("follower.replication.throttled.replicas", List, "", throttledReplicas, "Replicas (partition:broker, or *) that fetch at a limited rate."),
		topicKey("remote.storage.enable", Boolean, "false", nil, "Whether closed segments are moved to remote storage."),
		topicKey("local.retention.ms", Long, "-2", atLeast(-2), "With remote storage, the age in ms at which the local copy goes; -2: retention.ms.", "log.local.retention.ms"),
		topicKey("local.retention.bytes", Long, "-2", atLeast(-2), "With remote storage, the bytes that stay local; -2: retention.bytes.", "log.local.retention.bytes"),
		topicKey("remote.log.copy.disable", Boolean, "false", nil, "With remote storage, whether nothing more is moved there."),
		topicKey("remote.copy.lag.ms", Long, "0", atLeast(-1), "With remote storage, the age in ms at which a segment may move there; -1: local.retention.ms.", "log.remote.copy.lag.ms"),
		topicKey("remote.copy.lag.bytes", Long, "-1", atLeast(-1), "With remote storage, the bytes behind a segment at which it may move there; -1: local.retention.bytes.", "log.remote.copy.lag.bytes"),
		topicKey("remote.log.delete.on.disable", Boolean, "false", nil, "Whether remote data goes when remote storage is turned off for the topic."),
		topicKey("errors.deadletterqueue.group.enable", Boolean, "false", nil, "Whether share groups may use the topic as their dead-letter queue."),
		whenSet(topicKey("mortise.retention.plugin", List, "", pluginNames, "Retention plugins of the catalogue that decide what is deleted: an old segment goes when all of them let it go. Unset: Kafka's rule of time and size.")),
		whenSet(topicKey("mortise.retention.min.ms", Long, "", atLeast(0), "No retention plugin deletes a segment with a record younger than this many ms. Unset: 0.")),
		whenSet(topicKey("mortise.partitioner", String, "", pluginName, "Partitioner of the catalogue that chooses partitions for keys of this topic. Unset: murmur2, which is Kafka's default.")),
		whenSet(topicKey("mortise.partitioner.check", String, "", oneOf("off", "count", "reject"), "What happens to batches with keys that the partitioner would have put elsewhere: they are not looked at, counted, or refused. Unset: off.")),
		{Name: "internal.segment.bytes", Type: Int, Scope: TopicScope, NullDefault: true, Internal: true, Live: true, Doc: "Segment size in bytes without the lower bound of segment.bytes, for tests."},
	}
}
