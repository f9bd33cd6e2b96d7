package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// rackAwareSelector lets consumers fetch from the replica in their own rack
// (KIP-392). It is the name of Kafka's own class: that is what people set.
const rackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// leaderSelector is Kafka's name of what happens without a selector.
const leaderSelector = "org.apache.kafka.common.replica.LeaderSelector"

// The throttles of replication (KIP-73).
const (
	leaderRateKey   = "leader.replication.throttled.rate"
	followerRateKey = "follower.replication.throttled.rate"
)

// Replication is how partitions are kept on several brokers, and how brokers are
// watched.
type Replication struct {
	LagTimeMaxMS int64 // after which a follower that is not caught up leaves the ISR

	Fetchers              int // of each leader
	FetchMaxBytes         int // of one partition; a larger batch is fetched alone
	FetchResponseMaxBytes int
	FetchMinBytes         int
	FetchWaitMaxMS        int64
	FetchBackoffMS        int64
	SocketTimeoutMS       int64

	LeaderBytesPerSecond   int64 // of throttled replicas; math.MaxInt64: no limit
	FollowerBytesPerSecond int64 // of throttled replicas; math.MaxInt64: no limit

	// RackAware sends consumers to the replica in their rack.
	RackAware bool

	SessionTimeoutMS    int64 // after which a silent broker is fenced
	HeartbeatIntervalMS int64

	AutoRebalance       bool // leaders go back to the preferred replicas by themselves
	RebalanceIntervalMS int64
}

// replicationKeys are the keys of Replication. Those of sessions, heartbeats and the
// balance of leaders are read when a node starts.
func replicationKeys() []Key {
	return []Key{
		readOnly(true, brokerKey("replica.lag.time.max.ms", Long, "30000", nil, "After how many ms a follower that has not caught up with its leader is out of sync.")),
		brokerKey("num.replica.fetchers", Int, "1", atLeast(1), "Connections by which a broker fetches from each of its leaders."),
		readOnly(true, brokerKey("replica.fetch.max.bytes", Int, "1048576", atLeast(0), "Bytes of one partition that a follower asks for at once; a larger batch comes all the same.")),
		readOnly(true, brokerKey("replica.fetch.response.max.bytes", Int, "10485760", atLeast(0), "Bytes that a follower asks for at once; a larger batch comes all the same.")),
		readOnly(true, brokerKey("replica.fetch.min.bytes", Int, "1", nil, "Bytes that a leader waits for before it answers a follower.")),
		readOnly(true, brokerKey("replica.fetch.wait.max.ms", Int, "500", nil, "How long in ms a leader waits for replica.fetch.min.bytes.")),
		readOnly(true, brokerKey("replica.fetch.backoff.ms", Int, "1000", atLeast(0), "How long in ms a follower waits after an error before it fetches again.")),
		readOnly(true, brokerKey("replica.socket.timeout.ms", Int, "30000", nil, "How long in ms a follower waits for an answer.")),
		whenSet(brokerKey(leaderRateKey, Long, "", atLeast(0), "Bytes in a second that a leader sends to throttled replicas at most.")),
		whenSet(brokerKey(followerRateKey, Long, "", atLeast(0), "Bytes in a second that a follower fetches for throttled replicas at most.")),
		readOnly(true, unset(brokerKey("replica.selector.class", String, "", oneOf(rackAwareSelector, leaderSelector), "Which replica consumers are sent to; unset: the leader. "+rackAwareSelector+" chooses the one in the consumer's rack."))),
		readOnly(false, brokerKey("broker.session.timeout.ms", Int, "9000", nil, "After how many ms of silence a broker leads nothing any more.")),
		readOnly(false, brokerKey("broker.heartbeat.interval.ms", Int, "2000", nil, "How often in ms a broker says that it is there.")),
		readOnly(false, brokerKey("auto.leader.rebalance.enable", Boolean, "true", nil, "Whether leaders go back to the preferred replicas by themselves.")),
		readOnly(false, brokerKey("leader.imbalance.check.interval.seconds", Long, "300", atLeast(1), "How often in seconds it is checked whether they should.")),
	}
}

// newReplication puts effective values into their fields.
func newReplication(value func(name string) Value) Replication {
	number := func(name string) int64 { return value(name).Int }
	return Replication{
		LagTimeMaxMS:           number("replica.lag.time.max.ms"),
		Fetchers:               int(number("num.replica.fetchers")),
		FetchMaxBytes:          int(number("replica.fetch.max.bytes")),
		FetchResponseMaxBytes:  int(number("replica.fetch.response.max.bytes")),
		FetchMinBytes:          int(number("replica.fetch.min.bytes")),
		FetchWaitMaxMS:         max(number("replica.fetch.wait.max.ms"), 0),
		FetchBackoffMS:         number("replica.fetch.backoff.ms"),
		SocketTimeoutMS:        number("replica.socket.timeout.ms"),
		LeaderBytesPerSecond:   throttle(value(leaderRateKey)),
		FollowerBytesPerSecond: throttle(value(followerRateKey)),
		RackAware:              value("replica.selector.class").Text == rackAwareSelector,
		SessionTimeoutMS:       number("broker.session.timeout.ms"),
		HeartbeatIntervalMS:    number("broker.heartbeat.interval.ms"),
		AutoRebalance:          value("auto.leader.rebalance.enable").Bool,
		RebalanceIntervalMS:    min(number("leader.imbalance.check.interval.seconds"), math.MaxInt32) * 1000,
	}
}

// throttle is a throttle's value; nobody set it: there is no limit.
func throttle(v Value) int64 {
	if v.Text == "" {
		return math.MaxInt64
	}
	return v.Int
}

// checkReplicationTogether says which of the keys contradict each other, as Kafka
// does when it starts. That a session outlasts a heartbeat Kafka only logs; without it
// no broker would ever stay.
func checkReplicationTogether(number func(name string) int64) (errs []error) {
	wait := number("replica.fetch.wait.max.ms")
	for _, c := range []struct {
		ok   bool
		text string
	}{
		{wait <= number("replica.socket.timeout.ms"), "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts"},
		{wait <= number("replica.lag.time.max.ms"), "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR"},
		{number("broker.heartbeat.interval.ms") < number("broker.session.timeout.ms"), "broker.heartbeat.interval.ms must be less than broker.session.timeout.ms"},
	} {
		if !c.ok {
			errs = append(errs, &InvalidError{c.text})
		}
	}
	return errs
}

// Throttled are the replicas of a topic whose replication is held back
// (leader.replication.throttled.replicas and its twin). It is immutable; the zero
// value is none.
type Throttled struct {
	all   bool
	pairs map[throttledPair]struct{} // of a topic that moves as a whole there are many
}

// throttledPair is partition:broker.
type throttledPair struct {
	partition int32
	broker    kafka.BrokerID
}

// newThrottled reads a list of throttled replicas, which was checked. What is no
// number of 32 bits names no replica.
func newThrottled(v Value) Throttled {
	switch {
	case len(v.List) == 0:
		return Throttled{}
	case len(v.List) == 1 && v.List[0] == "*":
		return Throttled{all: true}
	}
	t := Throttled{pairs: make(map[throttledPair]struct{}, len(v.List))}
	for _, pair := range v.List {
		number, id, _ := strings.Cut(pair, ":")
		n, bad := strconv.ParseInt(number, 10, 32)
		broker, worse := strconv.ParseInt(id, 10, 32)
		if bad == nil && worse == nil {
			t.pairs[throttledPair{int32(n), kafka.BrokerID(broker)}] = struct{}{}
		}
	}
	return t
}

// None reports whether nothing is held back.
func (t *Throttled) None() bool { return !t.all && len(t.pairs) == 0 }

// Has reports whether the replica of a partition on a broker is held back.
//
// Hot: per partition of a fetch of a follower. One look into a map, 0 allocs.
func (t *Throttled) Has(partition int32, id kafka.BrokerID) bool {
	_, is := t.pairs[throttledPair{partition, id}]
	return is || t.all
}
