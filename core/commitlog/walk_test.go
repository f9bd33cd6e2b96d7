package commitlog_test

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// walk reads the whole log, batch by batch as a consumer would.
func walk(l *commitlog.Log) ([]record.Batch, error) {
	var all []record.Batch
	at, end := l.StartOffset(), l.EndOffset()
	for at < end {
		if len(all) > walkMax {
			return nil, fmt.Errorf("more than %d batches", walkMax)
		}
		got, next, err := readAt(l, at, 300)
		if err != nil {
			return nil, err
		}
		if len(got) == 0 { // what follows is a gap, or lost
			return all, nil
		}
		if next <= at || next > end {
			return nil, fmt.Errorf("read at %d of a log that ends at %d goes on at %d", at, end, next)
		}
		all, at = append(all, got...), next
	}
	return all, nil
}

// readAt is one fetch.
func readAt(l *commitlog.Log, at kafka.Offset, maxBytes int) ([]record.Batch, kafka.Offset, error) {
	s, err := l.Read(at, commitlog.ReadOptions{MaxBytes: maxBytes, Upper: l.EndOffset(), MinOne: true})
	if err != nil || s.Range == nil {
		return nil, s.Next, err
	}
	defer s.Range.Release()
	raw, err := s.Range.ReadAll(nil)
	if err != nil {
		return nil, s.Next, err
	}
	batches, err := parse(raw)
	if err != nil {
		return nil, s.Next, fmt.Errorf("read at %d: %w", at, err)
	}
	if first, last := batches[0], batches[len(batches)-1]; last.NextOffset() > s.Next || first.LastOffset() < at {
		return nil, s.Next, fmt.Errorf("read at %d says that it goes on at %d, the batches are [%d, %d)", at, s.Next, first.BaseOffset(), last.NextOffset())
	}
	return batches, s.Next, nil
}

// parse cuts what was read into batches and checks each.
func parse(raw []byte) ([]record.Batch, error) {
	var out []record.Batch
	for len(raw) > 0 {
		b, rest, err := record.Next(raw)
		if err == nil {
			err = b.CheckCRC()
		}
		if err != nil {
			return nil, err
		}
		out, raw = append(out, b), rest
	}
	return out, nil
}

// same compares batches by their bytes.
func same(a, b []record.Batch) bool {
	return slices.EqualFunc(a, b, func(x, y record.Batch) bool { return bytes.Equal(x, y) })
}

// describe names batches by their offsets, for messages.
func describe(batches []record.Batch) string {
	var b bytes.Buffer
	for _, x := range batches {
		fmt.Fprintf(&b, "[%d-%d e%d s%d] ", x.BaseOffset(), x.LastOffset(), x.LeaderEpoch(), x.BaseSequence())
	}
	return b.String()
}
