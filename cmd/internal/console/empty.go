package console

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// probeBytes bounds one probe of a partition; a broker gives at least one batch.
const probeBytes = 64 << 10

// passEmpty moves partitions over offsets at which nothing is left. Compaction
// takes records away and leaves a batch without records at the end of a log; a
// client hands out nothing for it, so a reader that waits for the last record
// would wait for ever. It asks the leaders what comes next and passes what holds
// no record.
func (c *consumer) passEmpty(ctx context.Context) error {
	topics, err := kadm.NewClient(c.client).ListTopics(ctx, c.o.Topic)
	if err != nil {
		return err
	}
	t := topics[c.o.Topic]
	if t.Err != nil {
		return fmt.Errorf("topic %s: %w", c.o.Topic, t.Err)
	}
	for p, s := range c.left {
		leader := t.Partitions[p].Leader
		if leader < 0 {
			continue // an election; the next look finds the leader
		}
		next, err := c.nextRecord(ctx, leader, t.ID, p, s)
		if err != nil {
			return fmt.Errorf("topic %s partition %d: %w", c.o.Topic, p, err)
		}
		if next > s.from {
			c.pass(p, next)
		}
	}
	return nil
}

// nextRecord asks the leader for what follows s.from. It returns s.from when a
// record is there, and otherwise the offset after the empty batches.
func (c *consumer) nextRecord(ctx context.Context, leader int32, id kadm.TopicID, p int32, s span) (int64, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 0, 0, probeBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = c.o.Topic, id
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = p, s.from, probeBytes
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, c.client.Broker(int(leader)))
	if err != nil {
		return 0, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return s.from, nil // nothing was said of it
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: s.from, Topic: c.o.Topic, Partition: p,
	}, &resp.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	if got.Err != nil || len(got.Records) > 0 {
		return s.from, got.Err
	}
	return next, nil
}
