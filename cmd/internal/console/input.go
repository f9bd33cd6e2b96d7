package console

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lineBytesMax bounds one line of input.
const lineBytesMax = 64 << 20

// LineOptions say how lines become records.
type LineOptions struct {
	KeySeparator string // empty: the whole line is the value
	Null         string // a key or value that equals it is null; empty: none is
	Headers      []kgo.RecordHeader
}

// Lines makes a record of each line. The last line needs no line feed. The
// sequence ends after an error.
func Lines(r io.Reader, o LineOptions) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(make([]byte, 64<<10), lineBytesMax)
		n := 0
		for in.Scan() {
			n++
			record, err := o.record(bytes.Clone(in.Bytes()), n)
			if !yield(record, err) || err != nil {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(nil, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// readAhead bounds the records that wait between a reader and its consumer.
const readAhead = 256

// Interruptible is records that end when ctx ends, even while the next one is being
// waited for, as a person's line is. A read that waits at that moment can't be
// called off: its goroutine ends with the read, or with the process.
func Interruptible(ctx context.Context, records iter.Seq2[*kgo.Record, error]) iter.Seq2[*kgo.Record, error] {
	type item struct {
		record *kgo.Record
		err    error
	}
	return func(yield func(*kgo.Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		items := make(chan item, readAhead)
		go func() {
			defer close(items)
			for r, err := range records {
				select {
				case items <- item{r, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case i, more := <-items:
				if !more || !yield(i.record, i.err) {
					return
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

func (o LineOptions) record(line []byte, n int) (*kgo.Record, error) {
	record := &kgo.Record{Value: line, Headers: o.Headers}
	if o.KeySeparator != "" {
		key, value, ok := bytes.Cut(line, []byte(o.KeySeparator))
		if !ok {
			return nil, fmt.Errorf("line %d: no key: %q is not in it", n, o.KeySeparator)
		}
		record.Key, record.Value = o.nullable(key), value
	}
	record.Value = o.nullable(record.Value)
	return record, nil
}

// nullable turns the text that stands for null into null.
func (o LineOptions) nullable(b []byte) []byte {
	if o.Null != "" && string(b) == o.Null {
		return nil
	}
	return b
}
