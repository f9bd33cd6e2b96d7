package config

// DurabilityKey is whether appends wait for the disk by default: page-cache or
// fsync. fsync makes 1 the default of log.flush.interval.messages.
const DurabilityKey = "mortise.durability"

// The values of DurabilityKey.
const (
	DurabilityPageCache = "page-cache"
	DurabilityFsync     = "fsync"
)

// moveRateKey is Kafka's throttle of moves between log directories (KIP-113).
const moveRateKey = "replica.alter.log.dirs.io.max.bytes.per.second"

// brokerKey is a key of brokers that can be changed dynamically.
func brokerKey(name string, t Type, def string, check Check, doc string) Key {
	return Key{Name: name, Type: t, Scope: BrokerScope, Default: def, check: check, Doc: doc, Live: true}
}

// readOnly is a key that only the config file can set; live says whether a
// changed file takes effect without a restart.
func readOnly(live bool, k Key) Key {
	k.ReadOnly, k.Live = true, live
	return k
}

// fileAtStart is a dynamic key whose value in the config file is read at start only.
func fileAtStart(k Key) Key {
	k.Live = false
	return k
}

// atStart is a key that a broker looks at only when it starts.
func atStart(k Key) Key {
	k.AtStart = true
	return fileAtStart(k)
}

// unset is a key without a default.
func unset(k Key) Key {
	k.Default, k.NullDefault = "", true
	return k
}

// whenSet is a key without a default that is described only where it is set.
func whenSet(k Key) Key {
	k.WhenSet = true
	return unset(k)
}

// in is a key whose unit is scale of its topic key's.
func in(scale int64, k Key) Key {
	k.scale = scale
	return k
}

// brokerKeys are the keys of brokers, by subject.
func brokerKeys() []Key {
	all := [][]Key{logKeys(), cleanerKeys(), compactionKeys(), topicMakingKeys(), networkKeys(), replicationKeys(), groupKeys(), ownKeys()}
	var keys []Key
	for _, group := range all {
		keys = append(keys, group...)
	}
	return keys
}

// logKeys are the defaults of topics, and how logs are kept.
func logKeys() []Key {
	return []Key{
		brokerKey("log.segment.bytes", Int, "1073741824", atLeast(1<<20), "Default of segment.bytes."),
		unset(brokerKey("log.roll.ms", Long, "", atLeast(1), "Default of segment.ms.")),
		in(hourMS, readOnly(true, brokerKey("log.roll.hours", Int, "168", atLeast(1), "Default of segment.ms in hours, unless log.roll.ms is set."))),
		unset(brokerKey("log.roll.jitter.ms", Long, "", atLeast(0), "Default of segment.jitter.ms.")),
		in(hourMS, readOnly(true, brokerKey("log.roll.jitter.hours", Int, "0", atLeast(0), "Default of segment.jitter.ms in hours, unless log.roll.jitter.ms is set."))),
		unset(brokerKey("log.retention.ms", Long, "", unlimitedOrSome, "Default of retention.ms.")),
		in(minuteMS, readOnly(true, unset(brokerKey("log.retention.minutes", Int, "", unlimitedOrSome, "Default of retention.ms in minutes, unless log.retention.ms is set.")))),
		in(hourMS, readOnly(true, brokerKey("log.retention.hours", Int, "168", unlimitedOrSome, "Default of retention.ms in hours, unless a finer key is set."))),
		brokerKey("log.retention.bytes", Long, "-1", nil, "Default of retention.bytes."),
		readOnly(true, brokerKey("log.retention.check.interval.ms", Long, "300000", atLeast(1), "How often in ms it is checked which segments may be deleted.")),
		brokerKey("log.cleanup.policy", List, "delete", setOf("compact", "delete"), "Default of cleanup.policy."),
		brokerKey("log.index.size.max.bytes", Int, "10485760", atLeast(4), "Default of segment.index.bytes."),
		brokerKey("log.index.interval.bytes", Int, "4096", atLeast(0), "Default of index.interval.bytes."),
		brokerKey("log.flush.interval.messages", Long, maxInt64, atLeast(1), "Default of flush.messages."),
		unset(brokerKey("log.flush.interval.ms", Long, "", atLeast(0), "Default of flush.ms.")),
		readOnly(true, brokerKey("log.flush.scheduler.interval.ms", Long, maxInt64, atLeast(0), "Default of flush.ms, unless log.flush.interval.ms is set.")),
		brokerKey("log.segment.delete.delay.ms", Long, "60000", atLeast(0), "Default of file.delete.delay.ms."),
		brokerKey("log.preallocate", Boolean, "false", nil, "Default of preallocate."),
		brokerKey("log.message.timestamp.type", String, "CreateTime", oneOf("CreateTime", "LogAppendTime"), "Default of message.timestamp.type."),
		brokerKey("log.message.timestamp.before.max.ms", Long, maxInt64, atLeast(0), "Default of message.timestamp.before.max.ms."),
		brokerKey("log.message.timestamp.after.max.ms", Long, "3600000", atLeast(0), "Default of message.timestamp.after.max.ms."),
		brokerKey("message.max.bytes", Int, "1048588", atLeast(0), "Default of max.message.bytes."),
		brokerKey("max.decompressed.message.bytes", Int, "2147483639", atLeast(1), "Default of max.decompressed.message.bytes."),
		brokerKey("compression.type", String, "producer", compressionTypes(), "Default of compression.type."),
		brokerKey("compression.gzip.level", Int, "-1", gzipLevel, "Default of compression.gzip.level."),
		brokerKey("compression.lz4.level", Int, "9", between(1, 17), "Default of compression.lz4.level."),
		brokerKey("compression.zstd.level", Int, "3", between(-131072, 22), "Default of compression.zstd.level."),
		// The cluster goes by what a broker said when it registered.
		fileAtStart(brokerKey("min.insync.replicas", Int, "1", atLeast(1), "Default of min.insync.replicas.")),
		fileAtStart(brokerKey("unclean.leader.election.enable", Boolean, "false", nil, "Default of unclean.leader.election.enable.")),
		brokerKey("log.local.retention.ms", Long, "-2", atLeast(-2), "Default of local.retention.ms."),
		brokerKey("log.local.retention.bytes", Long, "-2", atLeast(-2), "Default of local.retention.bytes."),
		brokerKey("log.remote.copy.lag.ms", Long, "0", atLeast(-1), "Default of remote.copy.lag.ms."),
		brokerKey("log.remote.copy.lag.bytes", Long, "-1", atLeast(-1), "Default of remote.copy.lag.bytes."),
		atStart(brokerKey("num.recovery.threads.per.data.dir", Int, "2", atLeast(1), "Logs of one directory that are recovered at once when the broker starts.")),
		readOnly(false, unset(brokerKey("num.replica.alter.log.dirs.threads", Int, "", nil, "Partitions that are copied to another log directory at once; unset: as many as there are directories."))),
		whenSet(brokerKey(moveRateKey, Long, "", atLeast(0), "Bytes in a second that are copied at most when replicas move between log directories; 0: none are.")),
		brokerKey("producer.id.expiration.ms", Int, "86400000", atLeast(1), "How long in ms an idle producer's sequence numbers are remembered."),
	}
}

// cleanerKeys are the defaults of compacted topics.
func cleanerKeys() []Key {
	return []Key{
		brokerKey("log.cleaner.delete.retention.ms", Long, "86400000", atLeast(0), "Default of delete.retention.ms."),
		brokerKey("log.cleaner.min.compaction.lag.ms", Long, "0", atLeast(0), "Default of min.compaction.lag.ms."),
		brokerKey("log.cleaner.max.compaction.lag.ms", Long, maxInt64, atLeast(1), "Default of max.compaction.lag.ms."),
		brokerKey("log.cleaner.min.cleanable.ratio", Double, "0.5", ratio, "Default of min.cleanable.dirty.ratio."),
	}
}

// topicMakingKeys say how topics come and go.
func topicMakingKeys() []Key {
	return []Key{
		readOnly(true, brokerKey("auto.create.topics.enable", Boolean, "true", nil, "Whether a topic that a client asks for is made if it does not exist.")),
		readOnly(true, brokerKey("num.partitions", Int, "1", atLeast(1), "Partitions of a topic that is made without saying how many.")),
		readOnly(true, brokerKey("default.replication.factor", Int, "1", atLeast(1), "Replicas of a topic that is made without saying how many.")),
		readOnly(true, brokerKey("delete.topic.enable", Boolean, "true", nil, "Whether topics can be deleted.")),
		readOnly(true, brokerKey("max.request.partition.size.limit", Int, "2000", atLeast(1), "Partitions in one page of DescribeTopicPartitions.")),
	}
}

// networkKeys bound what clients can take.
func networkKeys() []Key {
	return []Key{
		readOnly(true, brokerKey("socket.request.max.bytes", Int, "104857600", atLeast(1), "Largest request in bytes; a larger one closes its connection.")),
		readOnly(true, brokerKey("socket.send.buffer.bytes", Int, "212992", unlimitedOrSome, "Send buffer of a client's socket in bytes, for new connections; -1: the system's choice. Kafka's default is 102400, which costs more CPU.")),
		readOnly(true, brokerKey("socket.receive.buffer.bytes", Int, "-1", unlimitedOrSome, "Receive buffer of a client's socket in bytes, for new connections; -1: the system's choice. Kafka's default is 102400, which costs more CPU.")),
		readOnly(false, brokerKey("queued.max.request.bytes", Long, "-1", nil, "Bytes of requests in memory at which nothing more is read from clients; -1: chosen by the broker.")),
		brokerKey("max.connections", Int, "2147483647", atLeast(0), "Connections of all clients together."),
		brokerKey("max.connections.per.ip", Int, "2147483647", atLeast(0), "Connections from one IP address."),
		brokerKey("max.connections.per.ip.overrides", String, "", addressLimits, "Exceptions to max.connections.per.ip, as address:number,address:number."),
		readOnly(true, brokerKey("connections.max.idle.ms", Long, "600000", nil, "A connection that is silent for so many ms is closed.")),
		readOnly(false, brokerKey("connection.failed.authentication.delay.ms", Int, "100", atLeast(0), "How long in ms the answer to a failed authentication is held back.")),
		readOnly(false, brokerKey("connections.max.reauth.ms", Long, "0", nil, "After how many ms clients must authenticate anew (KIP-368); 0: never.")),
		readOnly(true, brokerKey("fetch.max.bytes", Int, "57671680", atLeast(1024), "Most bytes of records in one fetch answer, whatever the client asks for.")),
		readOnly(true, brokerKey("telemetry.max.bytes", Int, "1048576", atLeast(1), "Largest push of a client's metrics in bytes, compressed and decompressed.")),
		readOnly(true, brokerKey("max.incremental.fetch.session.cache.slots", Int, "1000", atLeast(0), "Fetch sessions that are remembered.")),
	}
}

// ownKeys are Mortise's own.
func ownKeys() []Key {
	return []Key{
		readOnly(false, brokerKey(DurabilityKey, String, DurabilityPageCache, oneOf(DurabilityPageCache, DurabilityFsync), "Whether an append is answered from the page cache (replicas protect it) or after fdatasync.")),
		readOnly(true, brokerKey("mortise.max.partitions.per.request", Int, "10000", atLeast(1), "Partitions that one request can make.")),
		readOnly(true, brokerKey("mortise.max.partitions.per.node", Int, "-1", atLeast(-1), "Partition replicas that a broker holds; -1: as many as the open-file limit carries.")),
	}
}

// factKeys are what a broker says of itself. They can't be set: their values come
// from Facts.
func factKeys() []Key {
	fact := func(name string, t Type, def string, null bool, doc string) Key {
		return Key{Name: name, Type: t, Scope: BrokerScope, Default: def, NullDefault: null, ReadOnly: true, Doc: doc}
	}
	return []Key{
		fact("node.id", Int, "", true, "The id of this node."),
		fact("broker.id", Int, "-1", false, "The id of this node, by its older name."),
		fact("broker.rack", String, "", true, "Where this broker stands."),
		fact("process.roles", List, "", true, "What this process does."),
		fact("log.dirs", List, "", true, "The directories of the logs."),
		fact("advertised.listeners", List, "", true, "The addresses that clients are told."),
		fact("authorizer.class.name", String, "", false, "What decides who may do what; empty: everybody may do everything."),
		fact("log.flush.offset.checkpoint.interval.ms", Int, "60000", false, "How often in ms the recovery points are written down."),
		fact("log.flush.start.offset.checkpoint.interval.ms", Int, "60000", false, "How often in ms the start offsets are written down."),
	}
}
