package replicatest

import (
	"context"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/retention"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/storage"
)

// DeleteRecords implements Replicas.
func (p *process) DeleteRecords(id meta.PartitionID, before kafka.Offset) (kafka.Offset, kafka.ErrorCode) {
	h := p.find(id)
	if h == nil {
		return kafka.NoOffset, kafka.ErrUnknownTopicOrPartition
	}
	p.plantDeleted(h, before)
	return h.DeleteRecords(before)
}

// Retain implements Replicas: a round of the real scheduler, by a rule of ours.
func (p *process) Retain(keep int) {
	if !p.started {
		return
	}
	s := retention.New(retention.Options{Partitions: p.inOrder, Retention: newest(keep), Clock: p.clock, Log: p.env.logger()})
	s.Run()
	s.Close()
}

// inOrder are the partitions here, in the same order each time: which of them a full disk
// stops is part of what makes a seed one run.
func (p *process) inOrder(yield func(*partition.Partition) bool) {
	for _, id := range p.held {
		if h := p.find(id); h != nil && !yield(h) {
			return
		}
	}
}

// newest is a retention that keeps so many segments of a log, and all that is not
// committed.
type newest int

// Decide implements storage.Retention.
func (k newest) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	var all []storage.Verdict
	for i := range logs {
		l, n := &logs[i], 0
		for n < len(l.Segments)-int(k) && l.Segments[n].NextOffset <= min(l.HighWatermark, l.LastStable) {
			n++
		}
		if n > 0 {
			all = append(all, storage.Verdict{Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch, DeleteOldest: n})
		}
	}
	return all, nil
}
