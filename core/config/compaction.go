package config

// Compaction is how the broker compacts logs.
type Compaction struct {
	Enable         bool
	Threads        int
	MapBytes       int64   // of all threads' offset maps
	MapLoad        float64 // how full a map may become
	BufferBytes    int64   // of all threads' buffers
	BytesPerSecond float64
	BackoffMS      int64
}

// compactionKeys say how logs are compacted.
func compactionKeys() []Key {
	return []Key{
		atStart(readOnly(false, brokerKey("log.cleaner.enable", Boolean, "true", nil, "Whether topics with cleanup.policy=compact are compacted."))),
		brokerKey("log.cleaner.threads", Int, "1", atLeast(0), "Logs that are compacted at once."),
		brokerKey("log.cleaner.dedupe.buffer.size", Long, "134217728", nil, "Bytes for the keys of the logs that are being compacted, 24 for each; used only as far as they are needed."),
		brokerKey("log.cleaner.io.buffer.load.factor", Double, "0.9", nil, "How full the memory for keys may become; a fuller one is slower."),
		brokerKey("log.cleaner.io.buffer.size", Int, "524288", atLeast(0), "Bytes of the buffers that compaction reads into."),
		brokerKey("log.cleaner.io.max.bytes.per.second", Double, "1.7976931348623157E308", nil, "Bytes that compaction reads and writes in a second at most."),
		brokerKey("log.cleaner.backoff.ms", Long, "15000", atLeast(0), "How long compaction waits in ms when there is nothing to do."),
	}
}

// newCompaction puts effective values into their fields.
func newCompaction(value func(name string) Value) Compaction {
	return Compaction{
		Enable:         value("log.cleaner.enable").Bool,
		Threads:        int(value("log.cleaner.threads").Int),
		MapBytes:       value("log.cleaner.dedupe.buffer.size").Int,
		MapLoad:        value("log.cleaner.io.buffer.load.factor").Real,
		BufferBytes:    value("log.cleaner.io.buffer.size").Int,
		BytesPerSecond: value("log.cleaner.io.max.bytes.per.second").Real,
		BackoffMS:      value("log.cleaner.backoff.ms").Int,
	}
}
