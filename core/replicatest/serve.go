package replicatest

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Serve implements Replicas: what api does for followers, without sessions of its own.
// The messages are read and written by another library than the follower's, so that
// both can't be wrong in the same way.
func (p *process) Serve(from kafka.BrokerID, request any, again bool) (any, bool) {
	sent := request.(*frame)
	b := sent.bytes[4:]
	key, version, id := int16(binary.BigEndian.Uint16(b)), int16(binary.BigEndian.Uint16(b[2:])), b[4:8]
	name := int(binary.BigEndian.Uint16(b[8:]))
	body := b[10+name+1:] // no tags
	answer := append(append([]byte(nil), id...), 0)
	if key == kmsg.ListOffsets.Int16() {
		q := kmsg.NewListOffsetsRequest()
		q.SetVersion(version)
		if err := q.ReadFrom(body); err != nil {
			return nil, true
		}
		return p.offsets(&q).AppendTo(answer), true
	}
	if sent.fetch == nil {
		q := kmsg.NewPtrFetchRequest()
		q.SetVersion(version)
		if err := q.ReadFrom(body); err != nil {
			return nil, true
		}
		sent.fetch = q
	}
	r, ready := p.fetch(from, sent.fetch, again)
	return r.AppendTo(answer), ready
}

// fetch answers a Fetch; ready: there is something to tell.
func (p *process) fetch(from kafka.BrokerID, q *kmsg.FetchRequest, again bool) (*kmsg.FetchResponse, bool) {
	r := kmsg.NewPtrFetchResponse()
	r.SetVersion(q.Version)
	ready := false
	for _, t := range q.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.TopicID = t.TopicID
		for i := range t.Partitions {
			rp, something := p.fetchPartition(from, q, t.TopicID, &t.Partitions[i], again)
			rt.Partitions = append(rt.Partitions, rp)
			ready = ready || something
		}
		r.Topics = append(r.Topics, rt)
	}
	return r, ready || len(r.Topics) == 0
}

// fetchPartition answers for one partition.
func (p *process) fetchPartition(from kafka.BrokerID, q *kmsg.FetchRequest, topic [16]byte, want *kmsg.FetchRequestTopicPartition, again bool) (kmsg.FetchResponseTopicPartition, bool) {
	r := kmsg.NewFetchResponseTopicPartition()
	r.Partition, r.HighWatermark, r.LogStartOffset, r.RecordBatches = want.Partition, -1, -1, []byte{}
	h := p.find(meta.PartitionID{Topic: topic, Partition: want.Partition})
	if h == nil {
		r.ErrorCode = int16(kafka.ErrUnknownTopicID)
		return r, true
	}
	var f partition.Fetched
	ask := partition.Fetch{
		From: kafka.Offset(want.FetchOffset), Epoch: kafka.LeaderEpoch(want.CurrentLeaderEpoch), LastEpoch: kafka.LeaderEpoch(want.LastFetchedEpoch),
		MaxBytes: int(want.PartitionMaxBytes), MinOne: true, LogStart: kafka.Offset(want.LogStartOffset),
		Replica: from, ReplicaEpoch: kafka.BrokerEpoch(q.ReplicaState.Epoch), Again: again,
	}
	p.plantAsked(h, &ask)
	h.ReplicaFetch(&ask, &f)
	p.plantHeard(h, &ask)
	p.plantServed(h, &f)
	r.ErrorCode, r.HighWatermark, r.LastStableOffset, r.LogStartOffset = int16(f.Code), int64(f.HighWatermark), int64(f.LastStable), int64(f.LogStart)
	r.DivergingEpoch.Epoch, r.DivergingEpoch.EndOffset = int32(f.DivergingEpoch), int64(f.DivergingEnd)
	if f.Range != nil {
		records, err := f.Range.ReadAll(nil)
		f.Range.Release()
		if err != nil {
			r.ErrorCode = int16(kafka.ErrKafkaStorageError)
		}
		r.RecordBatches = records
	}
	return r, r.ErrorCode != 0 || f.DivergingEpoch >= 0 || len(r.RecordBatches) > 0
}

// offsets answers a ListOffsets of a follower.
func (p *process) offsets(q *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	r := kmsg.NewPtrListOffsetsResponse()
	r.SetVersion(q.Version)
	for _, t := range q.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, want := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition = want.Partition
			h, code := p.roles.ByName(t.Topic, want.Partition)
			if h != nil {
				var found partition.Found
				found, code = h.ListOffset(want.Timestamp, partition.Everything, kafka.LeaderEpoch(want.CurrentLeaderEpoch))
				p.plantFound(h, want.Timestamp, &found)
				rp.Offset, rp.Timestamp, rp.LeaderEpoch = int64(found.Offset), found.Timestamp, int32(found.Epoch)
			}
			rp.ErrorCode = int16(code)
			rt.Partitions = append(rt.Partitions, rp)
		}
		r.Topics = append(r.Topics, rt)
	}
	return r
}
