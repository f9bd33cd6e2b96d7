package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// listOf asks for timestamps; ts[i] of partition i.
func listOf(version int16, topic string, ts ...int64) *kmsg.ListOffsetsRequest {
	m := kmsg.NewPtrListOffsetsRequest()
	m.Version, m.ReplicaID = version, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i, at := range ts {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(i), at
		t.Partitions = append(t.Partitions, p)
	}
	m.Topics = append(m.Topics, t)
	return m
}

func TestListOffsetsByVersion(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	d.mustProduce("t", 3) // timestamps 0, 1, 2
	for _, c := range []struct {
		version   int16
		timestamp int64
		offset    int64
		at        int64
		code      kafka.ErrorCode
	}{
		{1, partition.Earliest, 0, -1, kafka.None},
		{1, partition.Latest, 3, -1, kafka.None},
		{1, 2, 2, 2, kafka.None},
		{1, 3, -1, -1, kafka.None},
		{6, partition.MaxTimestamp, -1, -1, kafka.ErrUnsupportedVersion},
		{7, partition.MaxTimestamp, 2, 2, kafka.None},
		{7, partition.EarliestLocal, -1, -1, kafka.ErrUnsupportedVersion},
		{8, partition.EarliestLocal, 0, -1, kafka.None},
		{8, partition.LatestTiered, -1, -1, kafka.ErrUnsupportedVersion},
		{9, partition.LatestTiered, -1, -1, kafka.None},
		{10, partition.EarliestPendingUpload, -1, -1, kafka.ErrUnsupportedVersion},
		{11, partition.EarliestPendingUpload, -1, -1, kafka.None},
		{11, -7, -1, -1, kafka.ErrUnsupportedVersion},
	} {
		resp := call[*kmsg.ListOffsetsResponse](d, d.a.listOffsets, listOf(c.version, "t", c.timestamp))
		p := resp.Topics[0].Partitions[0]
		if p.Offset != c.offset || p.Timestamp != c.at || kafka.ErrorCode(p.ErrorCode) != c.code {
			t.Errorf("version %d, %d: offset %d, timestamp %d, %s; want %d, %d, %s",
				c.version, c.timestamp, p.Offset, p.Timestamp, kafka.ErrorCode(p.ErrorCode), c.offset, c.at, c.code)
		}
		if c.version >= 4 && c.offset >= 0 && p.LeaderEpoch != 2 {
			t.Errorf("version %d, %d: leader epoch %d, want 2", c.version, c.timestamp, p.LeaderEpoch)
		}
	}
}

func TestListOffsetsErrors(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	twice := listOf(5, "t", partition.Latest)
	twice.Topics[0].Partitions = append(twice.Topics[0].Partitions, twice.Topics[0].Partitions[0])
	for _, p := range call[*kmsg.ListOffsetsResponse](d, d.a.listOffsets, twice).Topics[0].Partitions {
		if kafka.ErrorCode(p.ErrorCode) != kafka.ErrInvalidRequest {
			t.Errorf("named twice: %s", kafka.ErrorCode(p.ErrorCode))
		}
	}
	fenced := listOf(5, "t", partition.Latest)
	fenced.Topics[0].Partitions[0].CurrentLeaderEpoch = 1
	for name, c := range map[string]struct {
		m    *kmsg.ListOffsetsRequest
		want kafka.ErrorCode
	}{
		"unknown topic": {listOf(5, "u", partition.Latest), kafka.ErrUnknownTopicOrPartition},
		"elsewhere":     {listOf(5, "far", partition.Latest), kafka.ErrNotLeaderOrFollower},
		"old epoch":     {fenced, kafka.ErrFencedLeaderEpoch},
	} {
		p := call[*kmsg.ListOffsetsResponse](d, d.a.listOffsets, c.m).Topics[0].Partitions[0]
		if kafka.ErrorCode(p.ErrorCode) != c.want || p.Offset != -1 || p.LeaderEpoch != -1 {
			t.Errorf("%s: %+v, want %s", name, p, c.want)
		}
	}
}
