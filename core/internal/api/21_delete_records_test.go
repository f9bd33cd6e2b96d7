package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

func TestDeleteRecords(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1, "c": 1, "__consumer_offsets": 1}, map[string]map[string]string{"c": {"cleanup.policy": "compact"}})
	d.mustProduce("t", 5)
	for _, c := range []struct {
		name   string
		topic  string
		before int64
		low    int64
		code   kafka.ErrorCode
	}{
		{"beyond the high watermark", "t", 6, -1, kafka.ErrOffsetOutOfRange},
		{"to an offset", "t", 3, 3, kafka.None},
		{"to an offset that is gone", "t", 1, 3, kafka.None},
		{"to the high watermark", "t", -1, 5, kafka.None},
		{"compact only", "c", -1, -1, kafka.ErrPolicyViolation},
		{"internal", "__consumer_offsets", -1, -1, kafka.ErrInvalidTopic},
		{"unknown", "u", -1, -1, kafka.ErrUnknownTopicOrPartition},
	} {
		for version := range int16(3) {
			m := kmsg.NewPtrDeleteRecordsRequest()
			m.Version = version
			q := kmsg.NewDeleteRecordsRequestTopic()
			q.Topic = c.topic
			p := kmsg.NewDeleteRecordsRequestTopicPartition()
			p.Offset = c.before
			q.Partitions = append(q.Partitions, p)
			m.Topics = append(m.Topics, q)
			got := call[*kmsg.DeleteRecordsResponse](d, d.a.deleteRecords, m).Topics[0].Partitions[0]
			if got.LowWatermark != c.low || kafka.ErrorCode(got.ErrorCode) != c.code {
				t.Errorf("%s, version %d: %d %s, want %d %s", c.name, version, got.LowWatermark, kafka.ErrorCode(got.ErrorCode), c.low, c.code)
			}
		}
	}
	m := fetchOf("t", 1) // from offset 0, which is gone
	if p := partitionsOf(d.fetchNow(m))[0]; kafka.ErrorCode(p.ErrorCode) != kafka.ErrOffsetOutOfRange || p.LogStartOffset != -1 {
		t.Errorf("fetch below the log start: %s, log start %d", kafka.ErrorCode(p.ErrorCode), p.LogStartOffset)
	}
}
