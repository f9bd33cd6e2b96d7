package console

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// idleWait is how long a consumer that shall stop at the end waits for records
// before it looks whether there are any more.
const idleWait = 500 * time.Millisecond

// ConsumeOptions say what to read and when to stop.
type ConsumeOptions struct {
	Topic      string
	Partitions []int32 // empty: all
	From       Position
	StopAtEnd  bool  // stop at the end as it was at the start
	Count      int64 // stop after so many records; 0: no bound
	// Progress is called now and then with the offsets that were passed and, when
	// StopAtEnd is set, how many there are; may be nil.
	Progress func(done, total int64)
}

// Consume hands each record to each in turn, in the order of every partition,
// until a bound of the options, an error, or the end of ctx, which is no error.
// It returns how many records it handed over. The client must consume nothing
// yet and keep control records (kgo.KeepControlRecords), by which Consume knows
// how far it has come; each never sees them.
func Consume(ctx context.Context, client *kgo.Client, o ConsumeOptions, each func(*kgo.Record) error) (int64, error) {
	c := consumer{client: client, o: o, each: each}
	if err := c.start(ctx); err != nil {
		return 0, err
	}
	for len(c.left) > 0 && !c.full() {
		fetches, idle := c.poll(ctx)
		if ctx.Err() != nil {
			return c.count, nil
		}
		if idle {
			if err := c.passEmpty(ctx); err != nil {
				return c.count, err
			}
			continue
		}
		if err := fetches.Err(); err != nil {
			return c.count, err
		}
		if err := c.take(fetches); err != nil {
			return c.count, err
		}
	}
	return c.count, nil
}

// consumer is one Consume. It belongs to one goroutine.
type consumer struct {
	client *kgo.Client
	o      ConsumeOptions
	each   func(*kgo.Record) error

	left        map[int32]span // partitions that are not at their end; from moves on
	count       int64          // records handed over
	done, total int64          // offsets, for Progress
}

// start finds out what there is and begins to fetch it.
func (c *consumer) start(ctx context.Context) error {
	left, err := spans(ctx, kadm.NewClient(c.client), c.o.Topic, c.o.Partitions, c.o.From)
	if err != nil {
		return err
	}
	from := map[int32]kgo.Offset{}
	for p, s := range left {
		if c.o.StopAtEnd && max(s.from, s.skip) >= s.end {
			delete(left, p)
			continue
		}
		from[p] = kgo.NewOffset().At(s.from)
		c.total += s.end - s.from
	}
	c.left = left
	c.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{c.o.Topic: from})
	return nil
}

func (c *consumer) full() bool { return c.o.Count > 0 && c.count >= c.o.Count }

// poll waits for records. When there is an end to reach it waits only so long.
func (c *consumer) poll(ctx context.Context) (fetches kgo.Fetches, idle bool) {
	if !c.o.StopAtEnd {
		return c.client.PollFetches(ctx), false
	}
	bounded, cancel := context.WithTimeout(ctx, idleWait)
	defer cancel()
	fetches = c.client.PollFetches(bounded)
	return fetches, errors.Is(fetches.Err0(), context.DeadlineExceeded)
}

// take hands the fetched records over.
func (c *consumer) take(fetches kgo.Fetches) error {
	for iter := fetches.RecordIter(); !iter.Done() && !c.full(); {
		r := iter.Next()
		s, wanted := c.left[r.Partition]
		if !wanted {
			continue // came after the end that we stop at
		}
		beyond := c.o.StopAtEnd && r.Offset >= s.end
		c.pass(r.Partition, r.Offset+1)
		if beyond || r.Attrs.IsControl() || r.Offset < s.skip {
			continue
		}
		if err := c.each(r); err != nil {
			return err
		}
		c.count++
	}
	if c.o.Progress != nil {
		c.o.Progress(c.done, c.total)
	}
	return nil
}

// pass notes that a partition was read up to next, exclusive.
func (c *consumer) pass(partition int32, next int64) {
	s := c.left[partition]
	c.done += next - s.from
	s.from = next
	c.left[partition] = s
	if c.o.StopAtEnd && next >= s.end {
		delete(c.left, partition)
	}
}
