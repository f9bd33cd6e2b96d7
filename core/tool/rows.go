package tool

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mortisemq/mortise/core/record"
)

// field is one value of a row. Names are those of Kafka's DumpLogSegments where
// it prints the same thing.
type field struct {
	name  string
	value any
}

// row is one line of a dump: a batch, a record, an entry of an index.
type row struct {
	what   string // the JSON field "type"
	indent string // for text
	fields []field
}

func (r *row) add(name string, value any) *row {
	r.fields = append(r.fields, field{name, value})
	return r
}

// printer writes rows as text or as JSON lines.
type printer struct {
	w    io.Writer
	json bool
	file string
	buf  []byte
}

func (p *printer) row(r *row) error {
	p.buf = p.buf[:0]
	if p.json {
		if err := p.appendJSON(r); err != nil {
			return err
		}
	} else {
		p.appendText(r)
	}
	p.buf = append(p.buf, '\n')
	_, err := p.w.Write(p.buf)
	return err
}

func (p *printer) appendText(r *row) {
	p.buf = append(p.buf, r.indent...)
	for i, f := range r.fields {
		if i > 0 {
			p.buf = append(p.buf, ' ')
		}
		p.buf = append(p.buf, f.name...)
		p.buf = append(p.buf, ": "...)
		if b, ok := f.value.([]byte); ok {
			p.buf = append(p.buf, text(b)...)
			continue
		}
		p.buf = fmt.Append(p.buf, f.value)
	}
}

func (p *printer) appendJSON(r *row) error {
	p.buf = append(p.buf, `{"type":`...)
	p.buf = strconv.AppendQuote(p.buf, r.what)
	for _, f := range append([]field{{"file", p.file}}, r.fields...) {
		name, value := f.name, f.value
		if b, ok := value.([]byte); ok && b != nil {
			if utf8.Valid(b) {
				value = string(b)
			} else {
				name += "Base64" // encoding/json writes bytes so
			}
		}
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("print %s: %w", name, err)
		}
		p.buf = append(p.buf, ',')
		p.buf = strconv.AppendQuote(p.buf, name)
		p.buf = append(p.buf, ':')
		p.buf = append(p.buf, data...)
	}
	p.buf = append(p.buf, '}')
	return nil
}

// names prints as Kafka prints header keys: [a,b].
type names []string

func (n names) String() string { return "[" + strings.Join(n, ",") + "]" }

// headerList is the headers of a record: [name=value …] or JSON objects.
type headerList []record.Header

func (l headerList) String() string {
	parts := make([]string, len(l))
	for i, h := range l {
		parts[i] = text([]byte(h.Key)) + "=" + text(h.Value)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// MarshalJSON implements json.Marshaler.
func (l headerList) MarshalJSON() ([]byte, error) {
	out := make([]map[string]any, len(l))
	for i, h := range l {
		out[i] = map[string]any{"key": h.Key, "value": nil}
		switch {
		case h.Value != nil && utf8.Valid(h.Value):
			out[i]["value"] = string(h.Value)
		case h.Value != nil:
			delete(out[i], "value")
			out[i]["valueBase64"] = h.Value
		}
	}
	return json.Marshal(out)
}

// text shows a key or a value: as it is when it is printable on one line, quoted
// otherwise.
func text(b []byte) string {
	if b == nil {
		return "null"
	}
	s := string(b)
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if s == "" || s == "null" || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}
