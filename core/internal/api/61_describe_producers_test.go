package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

func TestDescribeProducers(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	o := record.PlainOptions(record.None)
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 42, 3, 0
	b := record.NewBuilder(o)
	b.Append(5, nil, []byte("a"), nil)
	b.Append(6, nil, []byte("b"), nil)
	call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "t", b.Bytes()))

	m := kmsg.NewPtrDescribeProducersRequest()
	for _, topic := range []string{"t", "u", "far"} {
		q := kmsg.NewDescribeProducersRequestTopic()
		q.Topic, q.Partitions = topic, []int32{0}
		m.Topics = append(m.Topics, q)
	}
	resp := call[*kmsg.DescribeProducersResponse](d, d.a.describeProducers, m)
	for i, want := range []kafka.ErrorCode{kafka.None, kafka.ErrUnknownTopicOrPartition, kafka.ErrNotLeaderOrFollower} {
		if got := kafka.ErrorCode(resp.Topics[i].Partitions[0].ErrorCode); got != want {
			t.Errorf("%s: %s, want %s", resp.Topics[i].Topic, got, want)
		}
	}
	got := resp.Topics[0].Partitions[0].ActiveProducers
	if len(got) != 1 || got[0].ProducerID != 42 || got[0].ProducerEpoch != 3 || got[0].LastSequence != 1 || got[0].CurrentTxnStartOffset != -1 {
		t.Fatalf("producers %+v", got)
	}
}
