package api

import (
	"slices"

	"github.com/mortisemq/mortise/core/wire"
)

// entry is one API key.
type entry struct {
	key      int16
	min, max int16 // versions that are answered
	// advertisedMin is the least version that ApiVersions shows.
	advertisedMin int16
	handle        func(*wire.Request)
}

// The keys that are answered only where clients may push their metrics.
const (
	keyTelemetrySubscriptions int16 = 71
	keyPushTelemetry          int16 = 72
)

// table is every key that is answered, by number.
type table struct {
	entries []entry  // in the order of keys
	byKey   []*entry // nil: not answered
}

// entries are the keys of this broker in the order of their numbers, with the
// versions of Kafka 4.4 (KIP-896 took the older ones away). Produce is shown from
// 0 on, because librdkafka up to 2.8 compresses only then (KAFKA-18659).
func (a *API) entries() []entry {
	entries := []entry{
		{0, 3, 13, 0, a.produce},
		{1, 4, 18, 4, a.fetch},
		{2, 1, 11, 1, a.listOffsets},
		{3, 0, 13, 0, a.metadata},
		{8, 2, 10, 2, a.offsetCommit},
		{9, 1, 10, 1, a.offsetFetch},
		{10, 0, 6, 0, a.findCoordinator},
		{11, 0, 9, 0, a.joinGroup},
		{12, 0, 4, 0, a.heartbeat},
		{13, 0, 5, 0, a.leaveGroup},
		{14, 0, 5, 0, a.syncGroup},
		{15, 0, 6, 0, a.describeGroups},
		{16, 0, 5, 0, a.listGroups},
		{17, 0, 1, 0, a.saslHandshake},
		{18, 0, 5, 0, a.apiVersions},
		{19, 2, 7, 2, a.createTopics},
		{20, 1, 6, 1, a.deleteTopics},
		{21, 0, 2, 0, a.deleteRecords},
		{22, 0, 5, 0, a.initProducerID},
		{23, 2, 4, 2, a.offsetForLeaderEpoch},
		{29, 1, 3, 1, a.describeACLs},
		{30, 1, 3, 1, a.createACLs},
		{31, 1, 3, 1, a.deleteACLs},
		{32, 1, 4, 1, a.describeConfigs},
		{33, 0, 2, 0, a.alterConfigs},
		{34, 1, 2, 1, a.alterReplicaLogDirs},
		{35, 1, 5, 1, a.describeLogDirs},
		{36, 0, 2, 0, a.saslAuthenticate},
		{37, 0, 3, 0, a.createPartitions},
		{42, 0, 3, 0, a.deleteGroups},
		{43, 0, 2, 0, a.electLeaders},
		{44, 0, 1, 0, a.incrementalAlterConfigs},
		{45, 0, 1, 0, a.alterPartitionReassignments},
		{46, 0, 0, 0, a.listPartitionReassignments},
		{47, 0, 0, 0, a.offsetDelete},
		{55, 0, 2, 0, a.describeQuorum},
		{57, 0, 2, 0, a.updateFeatures},
		{60, 0, 2, 0, a.describeCluster},
		{61, 0, 0, 0, a.describeProducers},
		{64, 0, 0, 0, a.unregisterBroker},
		{68, 0, 1, 0, a.consumerGroupHeartbeat},
		{69, 0, 1, 0, a.consumerGroupDescribe},
		{keyTelemetrySubscriptions, 0, 0, 0, a.getTelemetrySubscriptions},
		{keyPushTelemetry, 0, 0, 0, a.pushTelemetry},
		{74, 0, 1, 0, a.listConfigResources},
		{75, 0, 0, 0, a.describeTopicPartitions},
		{80, 0, 1, 0, a.addRaftVoter},
		{81, 0, 0, 0, a.removeRaftVoter},
	}
	if a.deps.Telemetry == nil {
		entries = slices.DeleteFunc(entries, func(e entry) bool { return e.key == keyTelemetrySubscriptions || e.key == keyPushTelemetry })
	}
	return entries
}

// newTable indexes the entries.
func newTable(a *API) *table {
	t := &table{entries: a.entries()}
	for i := range t.entries {
		e := &t.entries[i]
		for len(t.byKey) <= int(e.key) {
			t.byKey = append(t.byKey, nil)
		}
		t.byKey[e.key] = e
	}
	return t
}

// find finds a key; nil: it is not answered.
func (t *table) find(key int16) *entry {
	if key < 0 || int(key) >= len(t.byKey) {
		return nil
	}
	return t.byKey[key]
}
