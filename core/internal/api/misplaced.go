package api

import (
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/partitioning"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

// misplaced says that the topic refuses the batch because of where its keys are, and
// notes it.
func (c *produceCall) misplaced(p *partition.Partition, batch record.Batch) bool {
	tp, img := p.TopicPartition(), c.a.image()
	topic, exists := img.Topic(tp.Topic)
	if c.a.deps.Partitioning == nil || !exists {
		return false
	}
	why := c.a.deps.Partitioning.Check(&partitioning.Batch{Topic: tp.Topic, ID: topic.ID, Partition: tp.Partition,
		Partitions: int32(len(topic.Partitions)), Epoch: img.Index, Records: batch, Config: p.Config().Topic})
	if why == nil {
		return false
	}
	result := wire.FailedProduce(tp.Partition, why.Code, why.Message)
	result.LogStartOffset, result.RecordErrors = p.StartOffset(), recordErrors(why.Records)
	c.results = append(c.results, result)
	return true
}
