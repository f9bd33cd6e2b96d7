package config

import "strings"

// groupKeys say how consumer groups and their offsets are kept.
func groupKeys() []Key {
	return []Key{
		readOnly(true, brokerKey("group.min.session.timeout.ms", Int, "6000", nil, "Shortest session timeout in ms that members of groups may ask for.")),
		readOnly(true, brokerKey("group.max.session.timeout.ms", Int, "1800000", nil, "Longest session timeout in ms that members of groups may ask for.")),
		readOnly(true, brokerKey("group.initial.rebalance.delay.ms", Int, "3000", nil, "How long in ms the first rebalance of an empty group waits for more members.")),
		readOnly(true, brokerKey("group.max.size", Int, "2147483647", atLeast(1), "Members of one group.")),
		readOnly(true, brokerKey("group.consumer.session.timeout.ms", Int, "45000", atLeast(1), "Default of consumer.session.timeout.ms.")),
		readOnly(true, brokerKey("group.consumer.min.session.timeout.ms", Int, "45000", atLeast(1), "Least consumer.session.timeout.ms of a group.")),
		readOnly(true, brokerKey("group.consumer.max.session.timeout.ms", Int, "60000", atLeast(1), "Most consumer.session.timeout.ms of a group.")),
		readOnly(true, brokerKey("group.consumer.heartbeat.interval.ms", Int, "5000", atLeast(1), "Default of consumer.heartbeat.interval.ms.")),
		readOnly(true, brokerKey("group.consumer.min.heartbeat.interval.ms", Int, "5000", atLeast(1), "Least consumer.heartbeat.interval.ms of a group.")),
		readOnly(true, brokerKey("group.consumer.max.heartbeat.interval.ms", Int, "15000", atLeast(1), "Most consumer.heartbeat.interval.ms of a group.")),
		brokerKey("group.consumer.assignment.interval.ms", Int, "1000", atLeast(0), "Default of consumer.assignment.interval.ms."),
		readOnly(true, brokerKey("group.consumer.min.assignment.interval.ms", Int, "0", atLeast(0), "Least consumer.assignment.interval.ms of a group.")),
		readOnly(true, brokerKey("group.consumer.max.assignment.interval.ms", Int, "15000", atLeast(0), "Most consumer.assignment.interval.ms of a group.")),
		readOnly(true, brokerKey("group.consumer.max.size", Int, "2147483647", atLeast(1), "Members of one group of the consumer protocol.")),
		readOnly(true, brokerKey("group.consumer.assignors", List, "uniform,range", assignors, "Assignors that members of the consumer protocol may ask for; the first is the default.")),
		readOnly(true, brokerKey("group.consumer.migration.policy", String, "bidirectional", migrationPolicy, "Which groups may change between the classic and the consumer protocol while they have members: disabled, upgrade, downgrade or bidirectional.")),
		readOnly(true, brokerKey("offset.metadata.max.bytes", Int, "4096", nil, "Longest text that a committed offset can have with it.")),
		readOnly(true, brokerKey("offsets.commit.timeout.ms", Int, "5000", atLeast(1), "How long in ms a commit of offsets, or another change of a group, waits for the replicas of __consumer_offsets.")),
		readOnly(true, brokerKey("offsets.retention.minutes", Int, "10080", atLeast(1), "How long in minutes committed offsets are kept after their group became empty.")),
		readOnly(true, brokerKey("offsets.retention.check.interval.ms", Long, "600000", atLeast(1), "How often in ms it is checked which committed offsets have expired.")),
		readOnly(true, brokerKey("offsets.topic.num.partitions", Int, "50", atLeast(1), "Partitions of __consumer_offsets when it is made.")),
		readOnly(true, brokerKey("offsets.topic.replication.factor", Short, "3", atLeast(1), "Replicas of __consumer_offsets when it is made. With fewer brokers it is not made; only a node that is alone makes do with itself.")),
		readOnly(true, brokerKey("offsets.topic.segment.bytes", Int, "104857600", atLeast(1), "segment.bytes of __consumer_offsets when it is made.")),
		readOnly(true, brokerKey("offsets.topic.compression.codec", Int, "0", between(0, 4), "Codec of the records of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.")),
	}
}

// Groups is what the keys of groups say.
type Groups struct {
	MinSessionMS, MaxSessionMS int32
	InitialDelayMS             int64
	MaxSize                    int
	MetadataMaxBytes           int
	CommitTimeoutMS            int64
	RetentionMS                int64
	CheckIntervalMS            int64

	// Of the consumer protocol.
	ConsumerMaxSize                      int
	Assignors                            []string
	MigrationUpgrade, MigrationDowngrade bool

	TopicPartitions        int32
	TopicReplicationFactor int16
	TopicSegmentBytes      int64
	TopicCodec             int8
}

// newGroups puts effective values into their fields.
func newGroups(value func(name string) Value) Groups {
	number := func(name string) int64 { return value(name).Int }
	policy := strings.ToLower(value("group.consumer.migration.policy").Text)
	return Groups{
		ConsumerMaxSize:        int(number("group.consumer.max.size")),
		Assignors:              value("group.consumer.assignors").List,
		MigrationUpgrade:       policy == "upgrade" || policy == "bidirectional",
		MigrationDowngrade:     policy == "downgrade" || policy == "bidirectional",
		MinSessionMS:           int32(number("group.min.session.timeout.ms")),
		MaxSessionMS:           int32(number("group.max.session.timeout.ms")),
		InitialDelayMS:         number("group.initial.rebalance.delay.ms"),
		MaxSize:                int(number("group.max.size")),
		MetadataMaxBytes:       int(number("offset.metadata.max.bytes")),
		CommitTimeoutMS:        number("offsets.commit.timeout.ms"),
		RetentionMS:            number("offsets.retention.minutes") * minuteMS,
		CheckIntervalMS:        number("offsets.retention.check.interval.ms"),
		TopicPartitions:        int32(number("offsets.topic.num.partitions")),
		TopicReplicationFactor: int16(number("offsets.topic.replication.factor")),
		TopicSegmentBytes:      number("offsets.topic.segment.bytes"),
		TopicCodec:             int8(number("offsets.topic.compression.codec")),
	}
}

// assignors wants names of the assignors that there are, at least one. Kafka takes
// names of classes too, which are nothing here.
func assignors(name string, v Value) error {
	if len(v.List) == 0 {
		return &InvalidError{"Configuration '" + name + "' must not be empty. Valid values include: any non-empty value"}
	}
	return setOf("uniform", "range")(name, v)
}

// migrationPolicy wants one of Kafka's policies, in upper or lower case.
func migrationPolicy(name string, v Value) error {
	for _, policy := range [...]string{"DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"} {
		if strings.EqualFold(v.Text, policy) {
			return nil
		}
	}
	return invalid(name, v.Text, "String must be one of (case insensitive): DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL")
}
