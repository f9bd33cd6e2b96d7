package sdktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/mortisemq/mortise/sdk/storage"
)

// factsNow is the time in drawn facts, milliseconds since 1970: 2024. No timestamp is
// later, because a record from the future makes a segment younger when its time comes.
const factsNow = 1_704_067_200_000

const day = 86_400_000 // ms

// retentionTalk talks with a retention plugin.
type retentionTalk struct {
	spoken
	r storage.Retention
}

// decide asks, checks what a broker checks, and says how many segments of each log go.
func (t *retentionTalk) decide(ctx context.Context, logs []storage.LogFacts) ([]int, error) {
	asked := shifted(logs, 0)
	var verdicts []storage.Verdict
	err := t.b.guarded(ctx, func() (err error) {
		verdicts, err = t.r.Decide(ctx, logs)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(asked, shifted(logs, 0)) {
		return nil, errors.New("it changed the facts")
	}
	gone, seen := make([]int, len(logs)), make([]bool, len(logs))
	for _, v := range verdicts {
		i := slices.IndexFunc(logs, func(l storage.LogFacts) bool { return l.Topic == v.Topic && l.Partition == v.Partition })
		switch {
		case i < 0:
			return nil, fmt.Errorf("2: a verdict for %s-%d, which was not asked about", v.Topic, v.Partition)
		case seen[i]:
			return nil, fmt.Errorf("2: two verdicts for %s-%d", v.Topic, v.Partition)
		case v.LeaderEpoch != logs[i].LeaderEpoch:
			return nil, fmt.Errorf("2: a verdict for epoch %d, asked with %d", v.LeaderEpoch, logs[i].LeaderEpoch)
		case v.DeleteOldest < 0 || v.DeleteOldest > len(logs[i].Segments):
			return nil, fmt.Errorf("3: delete %d of %d segments", v.DeleteOldest, len(logs[i].Segments))
		case v.DeleteOldest > logs[i].Deletable():
			return nil, fmt.Errorf("4, 5: delete %d segments where %d may go, of %+v", v.DeleteOldest, logs[i].Deletable(), logs[i])
		}
		gone[i], seen[i] = v.DeleteOldest, true
	}
	return gone, nil
}

func (t *retentionTalk) ordinary(ctx context.Context, n int) (string, error) {
	gone, err := t.decide(ctx, drawLogs(uint64(n)))
	return fmt.Sprint(gone), err
}

func (t *retentionTalk) empty(ctx context.Context) error {
	if _, err := t.decide(ctx, nil); err != nil {
		return err
	}
	empty := storage.LogFacts{Topic: "t", NowMS: factsNow, RetentionMS: 0, RetentionBytes: 0}
	rolled := empty
	rolled.Partition = 1
	rolled.Segments = []storage.SegmentFacts{{MaxTimestampMS: -1, ModifiedMS: factsNow - day, Active: true}}
	_, err := t.decide(ctx, []storage.LogFacts{empty, rolled})
	return err
}

func (t *retentionTalk) largest(ctx context.Context) error {
	many := make([]storage.LogFacts, storage.MaxLogs)
	for i := range many {
		many[i] = plainLog(fmt.Sprintf("topic-%d", i/10), int32(i%10), storage.MaxSegments/storage.MaxLogs)
	}
	withTopics(many)
	topics := make([]storage.TopicBytes, storage.MaxTopics)
	for i := range topics {
		topics[i] = storage.TopicBytes{Topic: fmt.Sprintf("topic-%d", i), Bytes: 1000}
	}
	one := plainLog("topic-1", 0, storage.MaxSegments)
	one.Topics = topics
	for name, logs := range map[string][]storage.LogFacts{"as many logs as there may be": many, "as many segments as there may be": {one}} {
		if _, err := t.decide(ctx, logs); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// odd implements talk: numbers at their ends, and a log that nobody may delete from.
func (t *retentionTalk) odd(ctx context.Context) error {
	for name, change := range map[string]func(*storage.LogFacts){
		"nothing committed":   func(l *storage.LogFacts) { l.HighWatermark, l.LastStable = 0, 0 },
		"an open transaction": func(l *storage.LogFacts) { l.LastStable = 15 },
		"no timestamps":       func(l *storage.LogFacts) { eachSegment(l, func(s *storage.SegmentFacts) { s.MaxTimestampMS = -1 }) },
		"timestamps of the future": func(l *storage.LogFacts) {
			eachSegment(l, func(s *storage.SegmentFacts) { s.MaxTimestampMS = math.MaxInt64 })
		},
		"written in the future": func(l *storage.LogFacts) {
			eachSegment(l, func(s *storage.SegmentFacts) { s.ModifiedMS = math.MaxInt64 })
		},
		"a clock at its beginning": func(l *storage.LogFacts) { l.NowMS = 0 },
		"no segment is active":     func(l *storage.LogFacts) { eachSegment(l, func(s *storage.SegmentFacts) { s.Active = false }) },
		"as large as numbers are":  func(l *storage.LogFacts) { l.Segments[0].Bytes = math.MaxInt64 / 2; l.DiskTotal = math.MaxUint64 },
		"the largest limits":       func(l *storage.LogFacts) { l.RetentionMS, l.RetentionBytes = math.MaxInt64, math.MaxInt64 },
		"a name that is no UTF-8":  func(l *storage.LogFacts) { l.Config = map[string]string{"a\xff": "b\xff"} },
		"an offset beyond the end": func(l *storage.LogFacts) {
			l.Committed = []storage.GroupOffset{{Group: "billing", Offset: math.MaxInt64}}
		},
		"an offset before all":      func(l *storage.LogFacts) { l.Committed = []storage.GroupOffset{{Group: "billing", Offset: -1}} },
		"a log start inside":        func(l *storage.LogFacts) { l.LogStart = 25 },
		"a config that says little": func(l *storage.LogFacts) { l.Config = map[string]string{} },
	} {
		l := plainLog("t", 0, 4)
		change(&l)
		logs := []storage.LogFacts{l}
		withTopics(logs)
		if _, err := t.decide(ctx, logs); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func eachSegment(l *storage.LogFacts, change func(*storage.SegmentFacts)) {
	for i := range l.Segments {
		change(&l.Segments[i])
	}
}

// plainLog is a log of old segments, the last of them active.
func plainLog(topic string, partition int32, segments int) storage.LogFacts {
	l := storage.LogFacts{
		Topic: topic, Partition: partition, LeaderEpoch: 4, NowMS: factsNow, RetentionMS: day, RetentionBytes: 1 << 30,
		HighWatermark: int64(segments) * 10, LastStable: int64(segments) * 10,
	}
	for i := range segments {
		at := int64(factsNow - 30*day + i)
		l.Segments = append(l.Segments, storage.SegmentFacts{
			BaseOffset: int64(i) * 10, NextOffset: int64(i+1) * 10, Bytes: 1000, MaxTimestampMS: at, ModifiedMS: at, Active: i == segments-1,
		})
	}
	return l
}

// drawLogs draws a question about a few logs of a few topics, the same from the same
// seed.
func drawLogs(seed uint64) []storage.LogFacts {
	r := rand.New(rand.NewPCG(seed, 2))
	logs := make([]storage.LogFacts, 1+r.IntN(7))
	for i := range logs {
		logs[i] = drawLog(r, fmt.Sprintf("topic-%d", i/2), int32(i%2))
	}
	withTopics(logs)
	return logs
}

func drawLog(r *rand.Rand, topic string, partition int32) storage.LogFacts {
	l := storage.LogFacts{
		Topic: topic, Partition: partition, LeaderEpoch: r.Int32N(5), NowMS: factsNow,
		RetentionMS: drawLimit(r, 60*day), RetentionBytes: drawLimit(r, 3<<30),
	}
	offset, at := r.Int64N(100), int64(factsNow-r.Int64N(90*day))
	l.LogStart = offset
	segments := r.IntN(8)
	for i := range segments {
		s := storage.SegmentFacts{BaseOffset: offset, Bytes: r.Int64N(1 << 30), Active: i == segments-1}
		offset += 1 + r.Int64N(20)
		at = min(factsNow, at+r.Int64N(15*day)-2*day) // not always in order
		s.NextOffset, s.MaxTimestampMS, s.ModifiedMS = offset, at, at
		if s.Active && r.IntN(4) == 0 {
			s.Bytes, s.NextOffset, s.MaxTimestampMS = 0, s.BaseOffset, -1
			offset = s.BaseOffset
		}
		l.Segments = append(l.Segments, s)
	}
	l.HighWatermark = offset - r.Int64N(1+min(offset, 10))
	l.LastStable = l.HighWatermark - r.Int64N(1+min(l.HighWatermark, 10))
	for _, group := range []string{"billing", "audit", "other"} {
		if r.IntN(5) > 0 {
			l.Committed = append(l.Committed, storage.GroupOffset{Group: group, Offset: r.Int64N(offset + 5)})
		}
	}
	return l
}

// drawLimit is none, or one below most.
func drawLimit(r *rand.Rand, most int64) int64 {
	if r.IntN(3) == 0 {
		return storage.Unlimited
	}
	return r.Int64N(most)
}

// withTopics tells each log the bytes of all topics in the question.
func withTopics(logs []storage.LogFacts) {
	var topics []storage.TopicBytes
	for i := range logs {
		at := slices.IndexFunc(topics, func(t storage.TopicBytes) bool { return t.Topic == logs[i].Topic })
		if at < 0 {
			topics, at = append(topics, storage.TopicBytes{Topic: logs[i].Topic}), len(topics)
		}
		topics[at].Bytes += logs[i].Bytes()
	}
	for i := range logs {
		logs[i].Topics = topics
	}
}

// shifted is a copy of the facts by ms later, with everything in them that is a time.
func shifted(logs []storage.LogFacts, ms int64) []storage.LogFacts {
	logs = slices.Clone(logs)
	for i := range logs {
		l := &logs[i]
		l.NowMS += ms
		l.Segments = slices.Clone(l.Segments)
		l.Topics, l.Committed = slices.Clone(l.Topics), slices.Clone(l.Committed)
		for j := range l.Segments {
			s := &l.Segments[j]
			s.ModifiedMS += ms
			if s.MaxTimestampMS >= 0 {
				s.MaxTimestampMS += ms
			}
		}
	}
	return logs
}
