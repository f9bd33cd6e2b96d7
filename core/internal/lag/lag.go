package lag

import (
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/group"
)

// SeriesMax is how many pairs of group and topic are shown.
const SeriesMax = 1000

// idBytesMax bounds the ids of groups that are shown: clients choose them, and a label
// that is no UTF-8 makes the whole page useless.
const idBytesMax = 255

// Refresh is how long a result is shown before it is made anew.
const Refresh = 5 * time.Second

// Options are where the numbers come from. Both functions are called by one goroutine
// at a time.
type Options struct {
	// Groups calls yield with each group and its committed offsets, by topic and
	// partition, which yield must neither change nor keep.
	Groups func(yield func(id string, offsets map[string]map[int32]group.Offset) bool)
	// End is the first offset of a partition that no group can have read yet; false:
	// not known here. It is called while yield runs.
	End   func(topic string, partition int32) (int64, bool)
	Clock clock.Clock // nil: the system's
}

// Pair is how far a group is behind in a topic.
type Pair struct {
	Group, Topic string
	Lag          int64 // records
}

// Report is one result. It does not change once it is made.
type Report struct {
	Pairs []Pair // at most SeriesMax, the farthest behind first
	// Hidden is how many pairs were left out because there are more than SeriesMax, or
	// because the id of the group can't be shown.
	Hidden int
	// Unknown is how many partitions with a committed offset were not counted, since
	// this broker does not know where they end.
	Unknown int
}

// Lags tells how far groups are behind. It is safe for concurrent use.
type Lags struct {
	o Options

	mu    sync.Mutex
	last  *Report   // guarded by mu; nil: none yet
	since time.Time // when last was made; guarded by mu
}

// New makes a Lags that has not looked yet.
func New(o Options) *Lags {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	return &Lags{o: o}
}

// Report is a result that is not older than Refresh.
func (l *Lags) Report() *Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Clock.Now()
	if l.last == nil || now.Sub(l.since) >= Refresh {
		l.last, l.since = l.add(), now
	}
	return l.last
}

// add adds all groups up. Caller holds mu.
func (l *Lags) add() *Report {
	r := &Report{}
	t := newTop(l.last)
	l.o.Groups(func(id string, offsets map[string]map[int32]group.Offset) bool {
		if len(id) > idBytesMax || !utf8.ValidString(id) {
			r.Hidden += len(offsets)
			return true
		}
		for topic, partitions := range offsets {
			lag := int64(0)
			for n, o := range partitions {
				end, ok := l.o.End(topic, n)
				if !ok {
					r.Unknown++
					continue
				}
				lag += max(end-o.At, 0)
			}
			t.add(Pair{Group: id, Topic: topic, Lag: lag})
		}
		return true
	})
	r.Pairs, r.Hidden = t.sorted(), r.Hidden+t.hidden
	return r
}
