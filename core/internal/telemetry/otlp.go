package telemetry

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mortisemq/mortise/core/record"
)

// ErrMalformed is wrapped by the errors of pushes that can't be read.
var ErrMalformed = errors.New("malformed metrics")

// Bounds of what is taken of one push. What is over is counted and left out.
const (
	PointsMax     = 2000 // numbers
	attributesMax = 16   // of a number, and of a client
)

// point is one number of a push.
type point struct {
	name       string // as the client calls it
	value      float64
	delta      bool // value is what came on top of the last push
	counter    bool // it only grows
	attributes []attribute
}

// attribute is a property of a number or of its client.
type attribute struct{ name, value string }

// points are what a push has.
type points struct {
	list     []point
	resource []attribute // of the client
	skipped  int         // metrics of kinds that are not shown, and numbers over the bound
}

// read decompresses a push to at most limit bytes and reads it. The error wraps
// ErrMalformed.
func read(pushed []byte, codec record.Codec, limit int) (*points, error) {
	if codec != record.None {
		data, err := record.Decompress(codec, pushed, limit)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		pushed = data
	}
	return decode(pushed)
}

// decode reads OTLP's MetricsData (opentelemetry/proto/metrics/v1), of which it keeps
// the numbers of gauges and sums. Clients of Kafka push no others.
func decode(data []byte) (*points, error) {
	p := &points{}
	err := each(data, 1, func(resourceMetrics []byte) error {
		return scan(resourceMetrics, func(f *field) (err error) {
			switch {
			case f.message(1):
				p.resource, err = appendAttributes(p.resource, f.bytes, 1)
			case f.message(2):
				err = each(f.bytes, 2, p.metric)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// metric reads a Metric.
func (p *points) metric(b []byte) error {
	var name string
	var gauge, sum []byte
	var others bool
	err := scan(b, func(f *field) error {
		switch {
		case f.message(1):
			name = text(f.bytes)
		case f.message(5):
			gauge, sum = f.bytes, nil // of several kinds the last counts
		case f.message(7):
			gauge, sum = nil, f.bytes
		case f.message(9), f.message(10), f.message(11):
			others = true
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case gauge != nil:
		return p.numbers(gauge, point{name: name})
	case sum != nil:
		return p.sum(sum, name)
	case others:
		p.skipped++
	}
	return nil
}

// sum reads a Sum. Whether it is a delta may stand behind the numbers.
func (p *points) sum(b []byte, name string) error {
	like := point{name: name}
	err := scan(b, func(f *field) error {
		switch {
		case f.is(2, protowire.VarintType):
			like.delta = f.number == 1 // AGGREGATION_TEMPORALITY_DELTA
		case f.is(3, protowire.VarintType):
			like.counter = f.number != 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.numbers(b, like)
}

// numbers reads the data points of a Gauge or a Sum. They are like the given one.
func (p *points) numbers(b []byte, like point) error {
	return each(b, 1, func(b []byte) error {
		if len(p.list) >= PointsMax {
			p.skipped++
			return nil
		}
		x, known := like, false
		err := scan(b, func(f *field) (err error) {
			switch {
			case f.is(4, protowire.Fixed64Type):
				x.value, known = math.Float64frombits(f.number), true
			case f.is(6, protowire.Fixed64Type):
				x.value, known = float64(int64(f.number)), true
			case f.message(7):
				x.attributes, err = appendAttribute(x.attributes, f.bytes)
			}
			return err
		})
		if known {
			p.list = append(p.list, x)
		}
		return err
	})
}

// appendAttributes adds the KeyValues of a message's repeated field.
func appendAttributes(to []attribute, b []byte, id protowire.Number) ([]attribute, error) {
	err := each(b, id, func(b []byte) (err error) {
		to, err = appendAttribute(to, b)
		return err
	})
	return to, err
}

// appendAttribute adds a KeyValue. Lists and maps, which no client of Kafka has as
// values, are left out, and so is what is over the bound.
func appendAttribute(to []attribute, b []byte) ([]attribute, error) {
	var x attribute
	known := false
	err := scan(b, func(f *field) (err error) {
		switch {
		case f.message(1):
			x.name = text(f.bytes)
		case f.message(2):
			x.value, known, err = anyValue(f.bytes)
		}
		return err
	})
	if err != nil || !known || len(to) >= attributesMax {
		return to, err
	}
	return append(to, x), nil
}

// anyValue is the text of an AnyValue.
func anyValue(b []byte) (s string, known bool, err error) {
	err = scan(b, func(f *field) error {
		switch {
		case f.message(1):
			s, known = text(f.bytes), true
		case f.is(2, protowire.VarintType):
			s, known = strconv.FormatBool(f.number != 0), true
		case f.is(3, protowire.VarintType):
			s, known = strconv.FormatInt(int64(f.number), 10), true
		case f.is(4, protowire.Fixed64Type):
			s, known = strconv.FormatFloat(math.Float64frombits(f.number), 'g', -1, 64), true
		}
		return nil
	})
	return s, known, err
}
