package console

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ConsumeOptions say what to read and when to stop.
type ConsumeOptions struct {
	Topic      string
	Partitions []int32 // empty: all
	From       Position
	StopAtEnd  bool  // stop at the end as it was at the start
	Count      int64 // stop after so many records; 0: no bound
}

// Consume hands each record to each in turn, in the order of every partition,
// until a bound of the options, an error, or the end of ctx, which is no error.
// It returns how many records it handed over. The client must consume nothing
// yet and keep control records (kgo.KeepControlRecords), by which Consume knows
// how far it has come; each never sees them.
func Consume(ctx context.Context, client *kgo.Client, o ConsumeOptions, each func(*kgo.Record) error) (int64, error) {
	left, err := spans(ctx, kadm.NewClient(client), o.Topic, o.Partitions, o.From)
	if err != nil {
		return 0, err
	}
	from := map[int32]kgo.Offset{}
	for p, s := range left {
		if o.StopAtEnd && s.from >= s.end {
			delete(left, p)
			continue
		}
		from[p] = kgo.NewOffset().At(s.from)
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{o.Topic: from})
	count := int64(0)
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return count, nil
		}
		if err := fetches.Err(); err != nil {
			return count, err
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			s, wanted := left[r.Partition]
			if !wanted {
				continue // came after the end that we stop at
			}
			if o.StopAtEnd && r.Offset+1 >= s.end {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() || o.StopAtEnd && r.Offset >= s.end {
				continue
			}
			if err := each(r); err != nil {
				return count, err
			}
			if count++; o.Count > 0 && count >= o.Count {
				return count, nil
			}
		}
	}
	return count, nil
}
