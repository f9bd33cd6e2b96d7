package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// DescribeProducers (key 61), version 0.
//
// Behaviour: the producers that a partition's log remembers, with their last
// sequence and open transaction. Everything is in memory.

// describeProducers answers key 61.
func (a *API) describeProducers(r *wire.Request) {
	var q kmsg.DescribeProducersRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDescribeProducersResponse()
	for i := range q.Topics {
		t := kmsg.NewDescribeProducersResponseTopic()
		t.Topic = q.Topics[i].Topic
		_, known := a.image().Topic(t.Topic)
		allowed, bad := a.authorize(r, OpRead, ResourceTopic, t.Topic), checkTopicName(t.Topic)
		for _, n := range q.Topics[i].Partitions {
			out := kmsg.NewDescribeProducersResponseTopicPartition()
			out.Partition = n
			code := kafka.ErrTopicAuthorizationFailed
			switch {
			case bad != nil:
				code, out.ErrorMessage = bad.Code, &bad.Message
			case allowed:
				out.ActiveProducers, code = a.producersOf(t.Topic, n)
			default:
				out.ErrorMessage = kmsg.StringPtr(code.Text())
			}
			if code == kafka.ErrUnknownTopicOrPartition && !known { // Kafka explains only that
				text := code.Text()
				out.ErrorMessage = &text
			}
			out.ErrorCode = int16(code)
			t.Partitions = append(t.Partitions, out)
		}
		resp.Topics = append(resp.Topics, t)
	}
	r.ReplyMessage(resp)
}

// producersOf lists one partition's producers.
func (a *API) producersOf(topic string, number int32) ([]kmsg.DescribeProducersResponseTopicPartitionActiveProducer, kafka.ErrorCode) {
	p, code := a.deps.Roles.ByName(topic, number)
	if code != kafka.None {
		return nil, code
	}
	producers, code := p.Producers()
	if code != kafka.None {
		return nil, code
	}
	var out []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
	for _, s := range producers {
		e := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		e.ProducerID, e.ProducerEpoch = int64(s.ProducerID), int32(s.ProducerEpoch)
		e.LastSequence, e.LastTimestamp = s.LastSequence, s.LastTimestamp
		e.CoordinatorEpoch, e.CurrentTxnStartOffset = s.CoordinatorEpoch, int64(s.CurrentTxnFirstOffset)
		out = append(out, e)
	}
	return out, kafka.None
}
