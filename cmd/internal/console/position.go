package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// PositionHelp says where reading may start.
const PositionHelp = "start, end, OFFSET, -N (the last N of each partition), or @TIME (milliseconds, RFC 3339, or 1h for an hour ago)"

// Position is where reading starts in each partition. The zero value is the
// start.
type Position struct {
	kind positionKind
	n    int64 // an offset, a count from the end, or milliseconds since 1970
}

type positionKind uint8

const (
	atStart positionKind = iota
	atOffset
	beforeEnd
	atTime
)

// ParsePosition reads where to start.
func ParsePosition(s string, now time.Time) (Position, error) {
	if at, ok := strings.CutPrefix(s, "@"); ok {
		t, err := ParseTime(at, now)
		return Position{atTime, t.UnixMilli()}, err
	}
	switch s {
	case "start", "beginning", "earliest":
		return Position{}, nil
	case "end", "latest":
		return Position{beforeEnd, 0}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return Position{}, fmt.Errorf("%q is no position; write %s", s, PositionHelp)
	}
	if n < 0 {
		return Position{beforeEnd, -n}, nil
	}
	return Position{atOffset, n}, nil
}

// span is what a partition holds at one moment: start ≤ offset < end, where
// reading begins, and below which offset records are not wanted all the same.
type span struct{ start, end, from, skip int64 }

// spans asks the cluster what the wanted partitions hold (none named: all) and
// where the position lies in each.
func spans(ctx context.Context, admin *kadm.Client, topic string, partitions []int32, p Position) (map[int32]span, error) {
	starts, err := listed(admin.ListStartOffsets(ctx, topic))
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	ends, err := listed(admin.ListEndOffsets(ctx, topic))
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	var times kadm.ListedOffsets
	if p.kind == atTime {
		if times, err = listed(admin.ListOffsetsAfterMilli(ctx, p.n, topic)); err != nil {
			return nil, fmt.Errorf("topic %s: %w", topic, err)
		}
	}
	if len(partitions) == 0 {
		ends.Each(func(l kadm.ListedOffset) { partitions = append(partitions, l.Partition) })
	}
	found := map[int32]span{}
	for _, n := range partitions {
		start, ok := starts.Lookup(topic, n)
		end, ok2 := ends.Lookup(topic, n)
		if !ok || !ok2 {
			return nil, fmt.Errorf("topic %s has no partition %d", topic, n)
		}
		at := end.Offset // for a time later than every record
		if l, ok := times.Lookup(topic, n); ok && l.Offset >= 0 {
			at = l.Offset
		}
		found[n] = p.in(start.Offset, end.Offset, at)
	}
	return found, nil
}

// in places the position between start and end; timed is where its time lies.
func (p Position) in(start, end, timed int64) span {
	s := span{start: start, end: end, from: start}
	switch p.kind {
	case atOffset: // one that was deleted, or is not there yet, is no place to read from
		s.from, s.skip = min(max(p.n, start), end), p.n
	case beforeEnd:
		s.from = max(start, end-p.n)
	case atTime:
		s.from = timed
	}
	return s
}

// listed folds the error of any partition into the error of the call.
func listed(l kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err == nil {
		err = l.Error()
	}
	return l, err
}
