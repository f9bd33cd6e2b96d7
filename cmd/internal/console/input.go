package console

import (
	"bufio"
	"bytes"
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
