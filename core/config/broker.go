package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Broker is the effective configuration of this broker. It is immutable. Times
// are milliseconds, sizes bytes.
type Broker struct {
	AutoCreateTopics         bool
	NumPartitions            int32
	DefaultReplicationFactor int16
	DeleteTopicEnable        bool

	MaxPartitionsPerRequest int // of CreateTopics and CreatePartitions
	MaxPartitionsPerNode    int // replicas; -1: as the open-file limit allows
	MaxPartitionsDescribed  int // in one page of DescribeTopicPartitions

	SocketRequestMaxBytes        int64
	SocketSendBufferBytes        int   // -1: the system's choice
	SocketReceiveBufferBytes     int   // -1: the system's choice
	QueuedMaxRequestBytes        int64 // -1: the broker's choice
	MaxConnections               int64
	MaxConnectionsPerIP          int64
	MaxConnectionsPerIPOverrides map[netip.Addr]int // the caller must not change it
	ConnectionsMaxIdleMS         int64
	FailedAuthenticationDelayMS  int64
	MaxReauthMS                  int64 // 0: clients need not authenticate anew

	TelemetryMaxBytes                    int32 // of one push of a client's metrics
	FetchMaxBytes                        int64
	MaxIncrementalFetchSessionCacheSlots int

	LogRetentionCheckIntervalMS  int64
	NumRecoveryThreadsPerDataDir int
	ProducerIDExpirationMS       int64
	MoveThreads                  int   // that copy between log directories; 0: one for each
	MoveBytesPerSecond           int64 // between log directories; math.MaxInt64: no limit

	Groups Groups

	Compaction Compaction

	Replication Replication

	Fsync bool // mortise.durability is fsync
}

// newBroker puts effective values into their fields.
func newBroker(value func(name string) Value) *Broker {
	number := func(name string) int64 { return value(name).Int }
	overrides, _ := parseOverrides(value("max.connections.per.ip.overrides").Text) // was checked
	return &Broker{
		AutoCreateTopics:                     value("auto.create.topics.enable").Bool,
		NumPartitions:                        int32(number("num.partitions")),
		DefaultReplicationFactor:             int16(number("default.replication.factor")),
		DeleteTopicEnable:                    value("delete.topic.enable").Bool,
		MaxPartitionsPerRequest:              int(number("mortise.max.partitions.per.request")),
		MaxPartitionsPerNode:                 int(number("mortise.max.partitions.per.node")),
		MaxPartitionsDescribed:               int(number("max.request.partition.size.limit")),
		SocketRequestMaxBytes:                number("socket.request.max.bytes"),
		SocketSendBufferBytes:                int(number("socket.send.buffer.bytes")),
		SocketReceiveBufferBytes:             int(number("socket.receive.buffer.bytes")),
		QueuedMaxRequestBytes:                number("queued.max.request.bytes"),
		MaxConnections:                       number("max.connections"),
		MaxConnectionsPerIP:                  number("max.connections.per.ip"),
		MaxConnectionsPerIPOverrides:         overrides,
		ConnectionsMaxIdleMS:                 number("connections.max.idle.ms"),
		FailedAuthenticationDelayMS:          number("connection.failed.authentication.delay.ms"),
		MaxReauthMS:                          max(number("connections.max.reauth.ms"), 0),
		TelemetryMaxBytes:                    int32(number("telemetry.max.bytes")),
		FetchMaxBytes:                        number("fetch.max.bytes"),
		MaxIncrementalFetchSessionCacheSlots: int(number("max.incremental.fetch.session.cache.slots")),
		LogRetentionCheckIntervalMS:          number("log.retention.check.interval.ms"),
		NumRecoveryThreadsPerDataDir:         int(number("num.recovery.threads.per.data.dir")),
		ProducerIDExpirationMS:               number("producer.id.expiration.ms"),
		MoveThreads:                          max(int(number("num.replica.alter.log.dirs.threads")), 0),
		MoveBytesPerSecond:                   throttle(value(moveRateKey)),
		Groups:                               newGroups(value),
		Compaction:                           newCompaction(value),
		Replication:                          newReplication(value),
		Fsync:                                value(DurabilityKey).Text == DurabilityFsync,
	}
}

// parseOverrides reads address:number,address:number. Addresses are IP addresses;
// an IPv6 address stands in brackets. Host names, which Kafka resolves once at
// start, are refused: an address that a name server chose is no limit.
func parseOverrides(text string) (map[netip.Addr]int, error) {
	overrides := map[netip.Addr]int{}
	for _, pair := range strings.Split(text, ",") {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		colon := strings.LastIndexByte(pair, ':')
		if colon < 0 {
			return nil, fmt.Errorf("%q is not address:number", pair)
		}
		addr, err := netip.ParseAddr(strings.Trim(pair[:colon], "[]"))
		if err != nil {
			return nil, fmt.Errorf("%q is not an IP address", pair[:colon])
		}
		n, err := strconv.Atoi(pair[colon+1:])
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a number of connections", pair[colon+1:])
		}
		overrides[addr.Unmap()] = n
	}
	return overrides, nil
}
