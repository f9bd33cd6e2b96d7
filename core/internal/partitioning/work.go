package partitioning

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

// errNotInService says that the catalogue has no such partitioner now.
var errNotInService = errors.New("the partitioner is not in service")

// work is the memory of one check.
type work struct {
	keys    [][]byte
	indexes []int32 // of keys in the batch
	bytes   int
	out     []int32
	request partitioner.Request

	placed, misplaced uint64
	refused           []record.RecordError
}

// run checks a whole batch. A batch that can't be read has as many records as could
// be read.
func (w *work) run(p partitioner.Partitioner, b *Batch, report bool) error {
	w.keys, w.indexes, w.bytes = w.keys[:0], w.indexes[:0], 0
	w.placed, w.misplaced, w.refused = 0, 0, nil
	defer func() {
		clear(w.keys[:cap(w.keys)]) // they point into the batch
		w.request = partitioner.Request{}
	}()
	if p == nil {
		return errNotInService
	}
	it := b.Records.Records(record.DecompressLimits{})
	defer it.Close()
	for n := int32(0); it.Next(); n++ {
		key := it.Record().Key
		if len(key) == 0 {
			continue
		}
		if len(w.keys) == partitioner.MaxKeys || w.bytes+len(key) > partitioner.MaxKeyBytes && len(w.keys) > 0 {
			if err := w.ask(p, b, report); err != nil {
				return err
			}
		}
		w.keys, w.indexes, w.bytes = append(w.keys, key), append(w.indexes, n), w.bytes+len(key)
	}
	return w.ask(p, b, report)
}

// ask asks about the keys gathered so far.
func (w *work) ask(p partitioner.Partitioner, b *Batch, report bool) error {
	if len(w.keys) == 0 {
		return nil
	}
	if cap(w.out) < len(w.keys) {
		w.out = make([]int32, partitioner.MaxKeys)
	}
	out := w.out[:len(w.keys)]
	w.request = partitioner.Request{Topic: b.Topic, TopicID: b.ID, Partitions: b.Partitions, MetadataEpoch: b.Epoch, Keys: w.keys}
	ctx, stop := withPatience()
	defer stop()
	if err := p.Assign(ctx, &w.request, out); err != nil {
		return err
	}
	for i, partition := range out {
		if partition == b.Partition {
			w.placed++
			continue
		}
		w.misplaced++
		if report && len(w.refused) < reportedMax {
			w.refused = append(w.refused, record.RecordError{Index: w.indexes[i],
				Message: fmt.Sprintf("The key belongs on partition %d.", partition)})
		}
	}
	w.keys, w.indexes, w.bytes = w.keys[:0], w.indexes[:0], 0
	return nil
}
