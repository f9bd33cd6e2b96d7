package kgopartitioner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/sdk/partitioner"
)

// script is a plugin that answers by key, and notes what it was asked.
type script struct {
	answers map[string]int32
	err     error
	asked   []partitioner.Request
}

func (s *script) Assign(_ context.Context, r *partitioner.Request, out []int32) error {
	q := *r
	q.Keys = nil
	for i, key := range r.Keys {
		q.Keys = append(q.Keys, append([]byte(nil), key...))
		out[i] = partitioner.Any
		if at, ok := s.answers[string(key)]; ok && key != nil {
			out[i] = at
		}
	}
	s.asked = append(s.asked, q)
	return s.err
}

func record(key string) *kgo.Record { return &kgo.Record{Key: []byte(key), Value: []byte("value")} }

func TestKeysGoWhereThePluginSays(t *testing.T) {
	s := &script{answers: map[string]int32{"a": 3, "b": 0}}
	topic := New(s, Options{}).ForTopic("t")
	for key, want := range map[string]int{"a": 3, "b": 0} {
		r := record(key)
		if !topic.RequiresConsistency(r) {
			t.Errorf("key %s may go to any partition that can be written", key)
		}
		if got := topic.Partition(r, 4); got != want || Err(r) != nil {
			t.Errorf("key %s goes to %d (%v), want %d", key, got, Err(r), want)
		}
	}
	if q := s.asked[0]; q.Topic != "t" || q.Partitions != 4 || q.ValueSizes[0] != 5 {
		t.Errorf("question %+v", q)
	}
}

func TestKeysAreRefusedRatherThanRerouted(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		script script
		key    string
		want   error
	}{
		"an error":            {script{err: down, answers: map[string]int32{"a": 1}}, "a", down},
		"beyond the topic":    {script{answers: map[string]int32{"a": 4}}, "a", ErrBadAnswer},
		"below zero":          {script{answers: map[string]int32{"a": -2}}, "a", ErrBadAnswer},
		"any for a key":       {script{}, "a", ErrBadAnswer},
		"an error, empty key": {script{err: down}, "", down},
	} {
		r := record(c.key)
		topic := New(&c.script, Options{Deterministic: true}).ForTopic("t")
		if got := topic.Partition(r, 4); got >= 0 || !errors.Is(Err(r), c.want) {
			t.Errorf("%s: partition %d, reason %v, want %v", name, got, Err(r), c.want)
		}
		c.script.err, c.script.answers = nil, map[string]int32{"a": 1, "": 1}
		if got := topic.Partition(record(c.key), 4); got != 1 {
			t.Errorf("%s: partition %d after the plugin came back, want 1", name, got)
		}
	}
}

func TestKeylessRecordsAreSticky(t *testing.T) {
	for name, s := range map[string]*script{"any": {}, "an error": {err: errors.New("down")}} {
		topic := New(s, Options{}).ForTopic("t")
		r := &kgo.Record{}
		if topic.RequiresConsistency(r) {
			t.Errorf("%s: a record without a key needs a partition that can't be written", name)
		}
		first := topic.Partition(r, 1000)
		for range 5 {
			if got := topic.Partition(&kgo.Record{}, 1000); got != first || got < 0 {
				t.Errorf("%s: partition %d after %d", name, got, first)
			}
		}
		topic.(kgo.TopicPartitionerOnNewBatch).OnNewBatch()
		if got := topic.Partition(r, 1000); got == first {
			t.Errorf("%s: still partition %d in a new batch", name, got)
		}
	}
	empty := record("")
	if got := New(&script{}, Options{}).ForTopic("t").Partition(empty, 4); got < 0 || Err(empty) != nil {
		t.Errorf("an empty key that may go anywhere: %d, %v", got, Err(empty))
	}
}

// counting gives each record the next partition.
type counting struct{ next int32 }

func (c *counting) Assign(_ context.Context, r *partitioner.Request, out []int32) error {
	for i := range out {
		out[i] = c.next % r.Partitions
		c.next++
	}
	return nil
}

func TestANewBatchAsksThePluginOnce(t *testing.T) {
	topic := New(&counting{}, Options{}).ForTopic("t")
	r := record("a")
	first := topic.Partition(r, 4)
	topic.(kgo.TopicPartitionerOnNewBatch).OnNewBatch()
	if again := topic.Partition(r, 4); again != first {
		t.Errorf("partition %d, and %d for a new batch", first, again)
	}
	if next := topic.Partition(r, 4); next != first+1 {
		t.Errorf("the same record, produced again, goes to %d, want %d", next, first+1)
	}
}

func TestOnlyDeterministicAnswersAreRemembered(t *testing.T) {
	for _, deterministic := range []bool{true, false} {
		s := &script{answers: map[string]int32{"a": 3}}
		topic := New(s, Options{Deterministic: deterministic}).ForTopic("t")
		for range 3 {
			topic.Partition(record("a"), 4)
		}
		want := map[bool]int{true: 1, false: 3}[deterministic]
		if len(s.asked) != want {
			t.Errorf("deterministic %v: %d questions, want %d", deterministic, len(s.asked), want)
		}
		if topic.Partition(record("a"), 5); len(s.asked) != want+1 {
			t.Errorf("deterministic %v: no question for another number of partitions", deterministic)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s := &script{answers: map[string]int32{}}
	for i := range 100 {
		s.answers[fmt.Sprint(i)] = 1
	}
	p := New(s, Options{Deterministic: true, Remember: 10})
	topic := p.ForTopic("t")
	for i := range 100 {
		topic.Partition(record(fmt.Sprint(i)), 4)
		if n := len(p.memoryOf("t").at); n > 10 {
			t.Fatalf("%d keys are remembered, want at most 10", n)
		}
	}
}

func TestLearnAsksInFewQuestions(t *testing.T) {
	s := &script{answers: map[string]int32{}}
	keys := [][]byte{nil}
	for i := range 5000 {
		keys = append(keys, fmt.Append(nil, i))
		s.answers[fmt.Sprint(i)] = int32(i % 4)
	}
	p := New(s, Options{Deterministic: true})
	if err := p.Learn(t.Context(), "t", 4, keys); err != nil {
		t.Fatal(err)
	}
	if len(s.asked) != 2 || len(s.asked[0].Keys) != partitioner.MaxKeys-1 {
		t.Errorf("%d questions, the first about %d keys", len(s.asked), len(s.asked[0].Keys))
	}
	topic := p.ForTopic("t")
	for i := range 5000 {
		if got := topic.Partition(record(fmt.Sprint(i)), 4); got != i%4 {
			t.Fatalf("key %d goes to %d, want %d", i, got, i%4)
		}
	}
	if len(s.asked) != 2 {
		t.Errorf("%d questions more for keys that were learned", len(s.asked)-2)
	}
	large := [][]byte{make([]byte, partitioner.MaxKeyBytes/2+1), make([]byte, partitioner.MaxKeyBytes/2+1), make([]byte, 2*partitioner.MaxKeyBytes)}
	for _, key := range large {
		s.answers[string(key)] = 1
	}
	if err := p.Learn(t.Context(), "t", 4, large); err != nil || len(s.asked) != 5 {
		t.Errorf("%d questions about three large keys, %v", len(s.asked)-2, err)
	}
	s.err = errors.New("down")
	if err := p.Learn(t.Context(), "t", 4, [][]byte{[]byte("new")}); !errors.Is(err, s.err) {
		t.Errorf("error %v", err)
	}
}

// hanging answers when its time is up.
type hanging struct{}

func (hanging) Assign(ctx context.Context, _ *partitioner.Request, _ []int32) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestAQuestionHasATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := New(hanging{}, Options{}).ForTopic("t")
		r := record("a")
		start := time.Now()
		if got := topic.Partition(r, 4); got >= 0 || !errors.Is(Err(r), context.DeadlineExceeded) || time.Since(start) != 50*time.Millisecond {
			t.Errorf("partition %d after %v: %v", got, time.Since(start), Err(r))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r = record("a")
		r.Context = ctx
		if got := topic.Partition(r, 4); got >= 0 || !errors.Is(Err(r), context.Canceled) {
			t.Errorf("partition %d for a record that nobody wants any more: %v", got, Err(r))
		}
	})
}

func TestARememberedKeyAllocatesNothing(t *testing.T) {
	topic := New(&script{answers: map[string]int32{"a": 3}}, Options{Deterministic: true}).ForTopic("t")
	r := record("a")
	topic.Partition(r, 4)
	if n := testing.AllocsPerRun(100, func() { topic.Partition(r, 4) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
