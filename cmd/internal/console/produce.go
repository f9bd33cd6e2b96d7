package console

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/sdk/partitioner/kgopartitioner"
)

// Produced counts what was acknowledged.
type Produced struct {
	Records int64         `json:"records"`
	Bytes   int64         `json:"bytes"` // of keys and values
	Elapsed time.Duration `json:"elapsed_ns"`
}

// ProduceOptions say how fast and how loudly to produce.
type ProduceOptions struct {
	Rate     float64             // records a second; 0: as fast as it goes
	Acked    func(*kgo.Record)   // called for each acknowledged record; may be nil
	Progress func(done Produced) // called now and then; may be nil
}

// Produce sends every record and waits for the acknowledgements. It stops at
// the first error; what was acknowledged until then is in the result.
func Produce(ctx context.Context, client *kgo.Client, records iter.Seq2[*kgo.Record, error], o ProduceOptions) (Produced, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	tally := tally{options: o, start: start}
	sent := 0
	for record, err := range records {
		if err == nil && o.Rate > 0 {
			err = pace(ctx, start, sent, o.Rate)
		}
		if err != nil {
			cancel(err)
		}
		if ctx.Err() != nil {
			break
		}
		client.Produce(ctx, record, func(r *kgo.Record, err error) {
			if err != nil {
				cancel(refusal(r, err))
				return
			}
			tally.acked(r)
		})
		sent++
	}
	if err := client.Flush(ctx); err != nil && ctx.Err() == nil {
		cancel(err)
	}
	done := tally.sum()
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	return done, nil
}

// refusal says which record was not taken, and for a record that is too large
// what lets it in, for one that a plugin gave no partition why, and for one that the
// brokers would not take for too long where to look.
func refusal(r *kgo.Record, err error) error {
	if why := kgopartitioner.Err(r); why != nil {
		return fmt.Errorf("topic %s: the record %s: %w", r.Topic, named(r), why)
	}
	if errors.Is(err, kgo.ErrRecordTimeout) {
		return fmt.Errorf("topic %s: the record %s: %w; mortise health and mortise topic describe %s tell more", r.Topic, named(r), err, r.Topic)
	}
	if !errors.Is(err, kerr.MessageTooLarge) {
		return fmt.Errorf("topic %s: %w", r.Topic, err)
	}
	size := len(r.Key) + len(r.Value)
	return fmt.Errorf("topic %s: the record %s of %d bytes is too large: the topic's max.message.bytes and this command's --batch-bytes must both allow it: %w",
		r.Topic, named(r), size, err)
}

// namedBytesMax bounds how much of a record names it in an error.
const namedBytesMax = 80

// named is how an error names a record: by its key, or by how its value begins.
func named(r *kgo.Record) string {
	what, text := "with key ", r.Key
	if text == nil {
		what, text = "that begins with ", r.Value
	}
	if len(text) > namedBytesMax {
		return fmt.Sprintf("%s%q…", what, text[:namedBytesMax])
	}
	return fmt.Sprintf("%s%q", what, text)
}

// pace waits until the record numbered sent is due.
func pace(ctx context.Context, start time.Time, sent int, rate float64) error {
	due := start.Add(time.Duration(float64(sent) / rate * float64(time.Second)))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tally counts acknowledgements, which come on the client's goroutines.
type tally struct {
	options ProduceOptions
	start   time.Time

	mu   sync.Mutex
	done Produced
}

func (t *tally) acked(r *kgo.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done.Records++
	t.done.Bytes += int64(len(r.Key) + len(r.Value))
	if t.options.Acked != nil {
		t.options.Acked(r)
	}
	if t.options.Progress != nil {
		t.options.Progress(t.done)
	}
}

func (t *tally) sum() Produced {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done.Elapsed = time.Since(t.start)
	return t.done
}
