package telemetry

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
)

// in is a field that holds a message.
func in(id protowire.Number, message ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, id, protowire.BytesType), slices.Concat(message...))
}

// flag is a field that holds a varint, fixed one that holds eight bytes.
func flag(id protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, id, protowire.VarintType), v)
}

func fixed(id protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, id, protowire.Fixed64Type), v)
}

// label is a KeyValue with a text.
func label(id protowire.Number, name, value string) []byte {
	return in(id, in(1, []byte(name)), in(2, in(1, []byte(value))))
}

// data is MetricsData with one client's metrics, which is in a rack.
func data(metrics ...[]byte) []byte {
	return in(1, in(1, label(1, "client_rack", "r1")), in(2, metrics...))
}

// gauge is a push of one gauge.
func gauge(name string, value float64, labels ...[]byte) []byte {
	return data(in(2, in(1, []byte(name)), in(5, in(1, fixed(4, math.Float64bits(value)), slices.Concat(labels...)))))
}

// sum is a push of one sum; its temporality comes after the numbers.
func sum(name string, value int64, temporality, monotonic uint64, labels ...[]byte) []byte {
	return data(in(2, in(7, in(1, fixed(6, uint64(value)), slices.Concat(labels...)), flag(2, temporality), flag(3, monotonic)), in(1, []byte(name))))
}

// zipped is b with gzip.
func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// shownPoints is a push as text.
func shownPoints(p *points) string {
	var b strings.Builder
	for _, x := range p.list {
		fmt.Fprintf(&b, "%s=%v delta=%t counter=%t %v\n", x.name, x.value, x.delta, x.counter, x.attributes)
	}
	fmt.Fprintf(&b, "%v skipped=%d", p.resource, p.skipped)
	return b.String()
}

// TestDecode reads pushes with what OTLP allows.
func TestDecode(t *testing.T) {
	long := strings.Repeat("x", 3*TextMax)
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"nothing", nil, "[] skipped=0"},
		{"a gauge", gauge("a.b", 1.5, label(7, "topic", "t")), "a.b=1.5 delta=false counter=false [{topic t}]\n[{client_rack r1}] skipped=0"},
		{"a delta", sum("a", 7, 1, 1), "a=7 delta=true counter=true []\n[{client_rack r1}] skipped=0"},
		{"a total", sum("a", -7, 2, 0), "a=-7 delta=false counter=false []\n[{client_rack r1}] skipped=0"},
		{"values of all kinds", gauge("a", 1, in(7, in(1, []byte("b")), in(2, flag(2, 1))), in(7, in(1, []byte("i")), in(2, flag(3, 1<<64-1))),
			in(7, in(1, []byte("d")), in(2, fixed(4, math.Float64bits(0.5)))), in(7, in(1, []byte("list")), in(2, in(5)))),
			"a=1 delta=false counter=false [{b true} {i -1} {d 0.5}]\n[{client_rack r1}] skipped=0"},
		{"a histogram", data(in(2, in(1, []byte("h")), in(9, in(1, flag(4, 1))))), "[{client_rack r1}] skipped=1"},
		{"a number without a value", data(in(2, in(1, []byte("g")), in(5, in(1, fixed(3, 9))))), "[{client_rack r1}] skipped=0"},
		{"unknown fields", slices.Concat(flag(99, 1), fixed(98, 1), gauge("a", 1)), "a=1 delta=false counter=false []\n[{client_rack r1}] skipped=0"},
		{"no UTF-8", gauge("a\xff", 1), "a?=1 delta=false counter=false []\n[{client_rack r1}] skipped=0"},
		{"long texts", gauge(long, 1), long[:TextMax] + "=1 delta=false counter=false []\n[{client_rack r1}] skipped=0"},
	} {
		p, err := decode(c.data)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := shownPoints(p); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
}

// TestDecodeIsBounded: of many numbers and attributes some are left out.
func TestDecodeIsBounded(t *testing.T) {
	numbers := bytes.Repeat(in(1, fixed(6, 1), bytes.Repeat(label(7, "a", "b"), attributesMax+5)), PointsMax+9)
	p, err := decode(data(in(2, in(1, []byte("a")), in(5, numbers))))
	if err != nil || len(p.list) != PointsMax || p.skipped != 9 || len(p.list[0].attributes) != attributesMax {
		t.Errorf("%d numbers, %d skipped, %v", len(p.list), p.skipped, err)
	}
}

// TestReadDecompresses to at most the limit.
func TestReadDecompresses(t *testing.T) {
	want := gauge("a", 1)
	if p, err := read(zipped(t, want), record.Gzip, len(want)); err != nil || len(p.list) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := read(zipped(t, want), record.Gzip, len(want)-1); !errors.Is(err, ErrMalformed) || !errors.Is(err, record.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}

// What Prometheus takes for names.
var (
	nameForm  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	labelForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// FuzzDecode: no bytes make it panic or take more than they may.
func FuzzDecode(f *testing.F) {
	f.Add(gauge("a.b", 1.5, label(7, "topic", "t")))
	f.Add(sum("a", 7, 1, 1))
	f.Add(data(in(2, in(9, in(1)))))
	f.Add([]byte{0x0a, 0x05, 0x12})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		if err != nil {
			return
		}
		if len(p.list) > PointsMax || len(p.resource) > attributesMax {
			t.Fatalf("%d numbers, %d attributes", len(p.list), len(p.resource))
		}
		s := newShown(clock.NewManual(time.Unix(0, 0)), metrics.NewRegistry())
		s.take(Client{}, InstanceID{1}, p, time.Minute)
		for _, f := range s.Families() {
			if !nameForm.MatchString(f.Name) {
				t.Errorf("name %q", f.Name)
			}
			for _, series := range f.Series {
				for _, l := range series.Labels {
					if !labelForm.MatchString(l.Name) || !utf8.ValidString(l.Value) || len(l.Value) > TextMax {
						t.Errorf("label %q=%q", l.Name, l.Value)
					}
				}
			}
		}
	})
}
