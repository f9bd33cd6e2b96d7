package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

func TestOffsetForLeaderEpoch(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	d.mustProduce("t", 4)
	for _, c := range []struct {
		topic          string
		current, asked int32
		epoch          int32
		end            int64
		code           kafka.ErrorCode
	}{
		{"t", 2, 2, 2, 4, kafka.None},
		{"t", -1, 2, 2, 4, kafka.None},
		{"t", -1, 3, -1, -1, kafka.None},
		{"t", -1, 1, 1, 0, kafka.None},
		{"t", 1, 2, -1, -1, kafka.ErrFencedLeaderEpoch},
		{"t", 3, 2, -1, -1, kafka.ErrUnknownLeaderEpoch},
		{"u", -1, 2, -1, -1, kafka.ErrUnknownTopicOrPartition},
	} {
		for version := int16(2); version <= 4; version++ {
			m := kmsg.NewPtrOffsetForLeaderEpochRequest()
			m.Version = version
			q := kmsg.NewOffsetForLeaderEpochRequestTopic()
			q.Topic = c.topic
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			p.CurrentLeaderEpoch, p.LeaderEpoch = c.current, c.asked
			q.Partitions = append(q.Partitions, p)
			m.Topics = append(m.Topics, q)
			got := call[*kmsg.OffsetForLeaderEpochResponse](d, d.a.offsetForLeaderEpoch, m).Topics[0].Partitions[0]
			if got.LeaderEpoch != c.epoch || got.EndOffset != c.end || kafka.ErrorCode(got.ErrorCode) != c.code {
				t.Errorf("%s, current %d, epoch %d, version %d: (%d, %d) %s, want (%d, %d) %s", c.topic, c.current, c.asked, version,
					got.LeaderEpoch, got.EndOffset, kafka.ErrorCode(got.ErrorCode), c.epoch, c.end, c.code)
			}
		}
	}
}
