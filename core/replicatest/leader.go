package replicatest

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
)

// produceVersion is the version of Produce whose rules count.
const produceVersion = 12

// fetchBytes is how much a consumer's fetch brings at most.
const fetchBytes = 1 << 20

// told is a producer that waits.
type told func(error)

// Synced implements logdir.Waiter.
func (t told) Synced(err error) { t(err) }

// Append implements Replicas.
func (p *process) Append(id meta.PartitionID, batch []byte, acks int16, done func(Appended)) {
	h := p.find(id)
	if h == nil {
		done(Appended{Code: kafka.ErrUnknownTopicOrPartition})
		return
	}
	if p.env.Bug == IgnoreDuplicates {
		batch = p.anonymous(batch)
	}
	a := h.Append(&partition.Append{Batch: batch, Acks: acks, Version: produceVersion})
	if a.Code != kafka.None || a.Await == kafka.NoOffset || p.env.Bug == AckBeforeISR {
		done(Appended{Code: a.Code, Base: a.Base})
		return
	}
	h.AwaitWithin(partition.Wait{UpTo: a.Await, Epoch: a.Epoch, All: true, Limit: partition.NoLimit}, told(func(err error) {
		done(Appended{Code: codeOf(err), Base: a.Base})
	}))
}

// codeOf is what a client is told.
func codeOf(err error) kafka.ErrorCode {
	var refused *kafka.Error
	switch {
	case err == nil:
		return kafka.None
	case errors.As(err, &refused):
		return refused.Code
	}
	return kafka.ErrKafkaStorageError
}

// Read implements Replicas.
func (p *process) Read(id meta.PartitionID, epoch kafka.LeaderEpoch, from kafka.Offset) Fetched {
	h := p.find(id)
	if h == nil {
		return Fetched{Code: kafka.ErrUnknownTopicOrPartition}
	}
	var f partition.Fetched
	h.Fetch(&partition.Fetch{From: from, Epoch: epoch, LastEpoch: kafka.NoLeaderEpoch, MaxBytes: fetchBytes, MinOne: true}, &f)
	out := Fetched{Code: f.Code, HighWatermark: f.HighWatermark}
	if f.Range != nil {
		var err error
		if out.Batches, err = split(f.Range); err != nil {
			out.Code = kafka.ErrCorruptMessage
		}
	}
	return out
}

// Latest implements Replicas.
func (p *process) Latest(id meta.PartitionID, epoch kafka.LeaderEpoch) (kafka.Offset, kafka.ErrorCode) {
	h := p.find(id)
	if h == nil {
		return kafka.NoOffset, kafka.ErrUnknownTopicOrPartition
	}
	found, code := h.ListOffset(partition.Latest, partition.Uncommitted, epoch)
	return found.Offset, code
}

// Earliest implements Replicas.
func (p *process) Earliest(id meta.PartitionID, epoch kafka.LeaderEpoch) (kafka.Offset, kafka.ErrorCode) {
	h := p.find(id)
	if h == nil {
		return kafka.NoOffset, kafka.ErrUnknownTopicOrPartition
	}
	found, code := h.ListOffset(partition.Earliest, partition.Uncommitted, epoch)
	return found.Offset, code
}

// split reads a range as its batches, and releases it.
func split(r *commitlog.Range) ([][]byte, error) {
	defer r.Release()
	b, err := r.ReadAll(nil)
	if err != nil {
		return nil, fmt.Errorf("read a range: %w", err)
	}
	var all [][]byte
	for len(b) > 0 {
		batch, rest, err := record.Next(b)
		if err == nil {
			err = batch.CheckCRC()
		}
		if err != nil {
			return nil, fmt.Errorf("after %d batches: %w", len(all), err)
		}
		all, b = append(all, batch), rest
	}
	return all, nil
}
