package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// DefaultFormat prints the value and a line feed.
const DefaultFormat = `%s\n`

// FormatHelp lists what a format may hold. The letters are kcat's.
const FormatHelp = `  %s value   %S its length   %k key   %K its length   (null: empty, length -1)
  %t topic   %p partition   %o offset   %T timestamp in ms   %h headers name=value,…
  %D timestamp as RFC 3339   \n \t \r \\ \xHH and %%`

// part writes one piece of a record.
type part func(b []byte, r *kgo.Record) []byte

// Formatter prints records by a format string. It is safe for concurrent use.
type Formatter struct{ parts []part }

// NewFormatter compiles a format.
func NewFormatter(format string) (*Formatter, error) {
	f := &Formatter{}
	for i := 0; i < len(format); i++ {
		c := format[i]
		if (c == '%' || c == '\\') && i+1 == len(format) {
			return nil, fmt.Errorf("format %q: nothing after the last %q", format, c)
		}
		switch c {
		case '%':
			i++
			p := verb(format[i])
			if p == nil {
				return nil, fmt.Errorf("format %q: no such thing as %%%c; there are\n%s", format, format[i], FormatHelp)
			}
			f.parts = append(f.parts, p)
		case '\\':
			text, used, err := escape(format[i+1:])
			if err != nil {
				return nil, fmt.Errorf("format %q: %w", format, err)
			}
			i += used
			f.literal(text)
		default:
			f.literal(string(c))
		}
	}
	return f, nil
}

// Append adds the record's text to b.
func (f *Formatter) Append(b []byte, r *kgo.Record) []byte {
	for _, p := range f.parts {
		b = p(b, r)
	}
	return b
}

func (f *Formatter) literal(text string) {
	f.parts = append(f.parts, func(b []byte, _ *kgo.Record) []byte { return append(b, text...) })
}

// escape reads what follows a backslash: the text and how many bytes it took.
func escape(s string) (text string, used int, err error) {
	switch s[0] {
	case 'n':
		return "\n", 1, nil
	case 't':
		return "\t", 1, nil
	case 'r':
		return "\r", 1, nil
	case '\\':
		return `\`, 1, nil
	case 'x':
		if len(s) >= 3 {
			if n, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				return string([]byte{byte(n)}), 3, nil
			}
		}
		return "", 0, fmt.Errorf(`\x wants two hexadecimal digits`)
	}
	return "", 0, fmt.Errorf(`no such thing as \%c`, s[0])
}

// verb is what follows a percent sign; nil: nothing that we know.
func verb(c byte) part {
	number := func(f func(*kgo.Record) int64) part {
		return func(b []byte, r *kgo.Record) []byte { return strconv.AppendInt(b, f(r), 10) }
	}
	switch c {
	case '%':
		return func(b []byte, _ *kgo.Record) []byte { return append(b, '%') }
	case 's':
		return func(b []byte, r *kgo.Record) []byte { return append(b, r.Value...) }
	case 'k':
		return func(b []byte, r *kgo.Record) []byte { return append(b, r.Key...) }
	case 't':
		return func(b []byte, r *kgo.Record) []byte { return append(b, r.Topic...) }
	case 'h':
		return appendHeaders
	case 'D':
		return func(b []byte, r *kgo.Record) []byte {
			return r.Timestamp.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
		}
	case 'S':
		return number(func(r *kgo.Record) int64 { return length(r.Value) })
	case 'K':
		return number(func(r *kgo.Record) int64 { return length(r.Key) })
	case 'p':
		return number(func(r *kgo.Record) int64 { return int64(r.Partition) })
	case 'o':
		return number(func(r *kgo.Record) int64 { return r.Offset })
	case 'T':
		return number(func(r *kgo.Record) int64 { return r.Timestamp.UnixMilli() })
	}
	return nil
}

func appendHeaders(b []byte, r *kgo.Record) []byte {
	for i, h := range r.Headers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, h.Key...), '='), h.Value...)
	}
	return b
}

// length is a field's length in bytes; -1 stands for null.
func length(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

// ParseHeader reads NAME=VALUE.
func ParseHeader(s string) (kgo.RecordHeader, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return kgo.RecordHeader{}, fmt.Errorf("header %q is not NAME=VALUE", s)
	}
	return kgo.RecordHeader{Key: name, Value: []byte(value)}, nil
}

// ParseTime reads a time as people write it: milliseconds since 1970, RFC 3339,
// a day, or a duration before now such as 1h.
func ParseTime(s string, now time.Time) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time; write milliseconds since 1970, 2026-01-31T12:00:00Z, 2026-01-31, or 1h for an hour ago", s)
}
