package wire

import (
	"math/rand/v2"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// gen makes random messages, with the sizes at which lengths grow a byte.
type gen struct{ *rand.Rand }

func newGen(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 1))} }

func (g gen) str() string {
	sizes := []int{0, 1, 5, 20, 126, 127, 128, 249}
	return strings.Repeat(string(rune('a'+g.IntN(26))), sizes[g.IntN(len(sizes))])
}

func (g gen) nullable() *string {
	if g.IntN(3) == 0 {
		return nil
	}
	s := g.str()
	return &s
}

func (g gen) id() (id [16]byte) {
	for i := range id {
		id[i] = byte(g.Uint32())
	}
	return id
}

func (g gen) bytes() []byte {
	sizes := []int{0, 61, 100, 126, 127, 128, 129, 16382, 16383, 16384}
	switch g.IntN(12) {
	case 0:
		return nil
	case 1:
		return make([]byte, 70000)
	}
	b := make([]byte, sizes[g.IntN(len(sizes))])
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

func (g gen) produce(version int16) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version = version
	r.TransactionID, r.Acks, r.TimeoutMillis = g.nullable(), int16(g.IntN(3)-1), int32(g.Uint32())
	for range g.IntN(4) {
		t := kmsg.NewProduceRequestTopic()
		if version >= 13 {
			t.TopicID = g.id()
		} else {
			t.Topic = g.str()
		}
		for range g.IntN(4) {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = int32(g.IntN(3)), g.bytes()
			g.tags(&p.UnknownTags)
			t.Partitions = append(t.Partitions, p)
		}
		g.tags(&t.UnknownTags)
		r.Topics = append(r.Topics, t)
	}
	g.tags(&r.UnknownTags)
	return r
}

// tags sometimes puts tags that nobody knows.
func (g gen) tags(t *kmsg.Tags) {
	if g.IntN(4) == 0 {
		t.Set(uint32(100+g.IntN(200)), g.bytes())
	}
}

func (g gen) fetch(version int16) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version = version
	r.ReplicaID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes = int32(g.IntN(3)-1), int32(g.Uint32()), int32(g.Uint32()), int32(g.Uint32())
	r.IsolationLevel, r.SessionID, r.SessionEpoch, r.Rack = int8(g.IntN(2)), int32(g.Uint32()), int32(g.IntN(9)-1), g.str()
	if version >= 12 {
		r.ClusterID = g.nullable()
		g.tags(&r.UnknownTags)
	}
	if version >= 15 && g.IntN(2) == 0 {
		r.ReplicaState.ID, r.ReplicaState.Epoch = int32(g.IntN(9)), int64(g.Uint64())
	}
	for range g.IntN(4) {
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = g.str(), g.id()
		for range g.IntN(4) {
			t.Partitions = append(t.Partitions, g.fetchPartition(version))
		}
		r.Topics = append(r.Topics, t)
	}
	for range g.IntN(3) {
		t := kmsg.NewFetchRequestForgottenTopic()
		t.Topic, t.TopicID = g.str(), g.id()
		for range g.IntN(4) {
			t.Partitions = append(t.Partitions, int32(g.Uint32()))
		}
		r.ForgottenTopics = append(r.ForgottenTopics, t)
	}
	return r
}

func (g gen) fetchPartition(version int16) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset = int32(g.IntN(9)), int32(g.IntN(9)), int64(g.Uint64())
	p.LastFetchedEpoch, p.LogStartOffset, p.PartitionMaxBytes = int32(g.IntN(9)), int64(g.Uint64()), int32(g.Uint32())
	if version >= 17 && g.IntN(2) == 0 {
		p.ReplicaDirectoryID = g.id()
	}
	if version >= 18 && g.IntN(2) == 0 {
		p.HighWatermark = int64(g.Uint64() >> 1)
	}
	return p
}
