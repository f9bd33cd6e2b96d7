package api

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/seeded"
	"github.com/mortisemq/mortise/core/wire"
)

// shadow is broker 7 as it follows all partitions of topic t with one session.
type shadow struct {
	d       *dataRig
	session int32
	epoch   int32
	role    int32                 // the leader epoch that it believes in
	ends    []int64               // of its logs
	told    []int64               // high watermarks
	names   map[int32]bool        // what the next request names
	answers []*kmsg.FetchResponse // with something in them
}

// newShadow begins to follow n empty partitions.
func newShadow(d *dataRig, n int) *shadow { return newShadowAt(d, 3, make([]int64, n)) }

// newShadowAt begins to follow partitions from some offsets on: a first request, which
// names all.
func newShadowAt(d *dataRig, role int32, ends []int64) *shadow {
	s := &shadow{d: d, role: role, ends: slices.Clone(ends), told: make([]int64, len(ends)), names: map[int32]bool{}}
	for i := range ends {
		s.names[int32(i)] = true
	}
	m := s.next(0)
	m.SessionID, m.SessionEpoch = 0, 0
	first := call[*kmsg.FetchResponse](d, d.a.fetch, m)
	if s.session, s.epoch = first.SessionID, 1; s.session == 0 {
		d.t.Fatal("no session")
	}
	s.take(first)
	return s
}

// next is the next request of the session.
func (s *shadow) next(wait int32) *kmsg.FetchRequest {
	m := s.d.followOf("t", 0, 0)
	m.MaxWaitMillis, m.SessionID, m.SessionEpoch = wait, s.session, s.epoch
	for i, end := range s.ends {
		if s.names[int32(i)] {
			p := s.d.followOf("t", 1, end).Topics[0].Partitions[0]
			p.Partition, p.CurrentLeaderEpoch = int32(i), s.role
			m.Topics[0].Partitions = append(m.Topics[0].Partitions, p)
		}
	}
	if len(m.Topics[0].Partitions) == 0 {
		m.Topics = nil
	}
	clear(s.names)
	s.epoch++
	return m
}

// poll fetches once without waiting.
func (s *shadow) poll() { s.take(call[*kmsg.FetchResponse](s.d, s.d.a.fetch, s.next(0))) }

// take appends what an answer has.
func (s *shadow) take(m *kmsg.FetchResponse) {
	if m.ErrorCode != 0 {
		s.d.t.Fatalf("the session: %s", kafka.ErrorCode(m.ErrorCode))
	}
	if len(m.Topics) > 0 {
		s.answers = append(s.answers, m)
	}
	for _, p := range partitionsOf(m) {
		s.names[p.Partition] = s.names[p.Partition] || p.ErrorCode != 0
		if p.ErrorCode != 0 {
			continue
		}
		s.told[p.Partition] = p.HighWatermark
		for b := p.RecordBatches; len(b) > 0; s.ends[p.Partition]++ { // one record each
			size, err := record.Size(b)
			if err != nil || size > len(b) {
				s.d.t.Fatalf("partition %d: %v", p.Partition, err)
			}
			b, s.names[p.Partition] = b[size:], true
		}
	}
}

// lead gives the partitions of topic t a leader epoch and other replicas in sync.
func (d *dataRig) lead(epoch kafka.LeaderEpoch, change kafka.PartitionEpoch, isr ...kafka.BrokerID) {
	d.t.Helper()
	control := d.a.deps.Control.(*imageControl)
	now := control.Image()
	e := now.Edit(now.Index + 1)
	old, _ := now.Topic("t")
	next := &meta.Topic{Name: "t", ID: old.ID, Partitions: slices.Clone(old.Partitions)}
	for i := range next.Partitions {
		p := &next.Partitions[i]
		p.LeaderEpoch, p.PartitionEpoch, p.ISR = epoch, change, isr
	}
	e.PutTopic(next)
	control.p.Publish(e.Image())
	if err := d.a.deps.Roles.WaitApplied(context.Background(), now.Index+1); err != nil {
		d.t.Fatal(err)
	}
}

// appendTo appends one record to a partition.
func (d *dataRig) appendTo(partition int32) {
	m := produceOf(1, "t", records(1))
	m.Topics[0].Partitions[0].Partition = partition
	if code := call[*kmsg.ProduceResponse](d, d.a.produce, m).Topics[0].Partitions[0].ErrorCode; code != 0 {
		d.t.Errorf("produce: %s", kafka.ErrorCode(code))
	}
}

// looks is how often partitions of the session were looked at.
func (s *shadow) looks() (sum int) {
	f := s.d.a.data.sessions.get(s.session)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parts {
		sum += p.looks
	}
	return sum
}

// TestIdlePartitionsAreNotLookedAt: whatever a follower follows, a fetch that finds
// nothing costs nothing, and one that finds a record looks at its partition alone. Within
// replica.lag.time.max.ms everything is looked at a few times.
func TestIdlePartitionsAreNotLookedAt(t *testing.T) {
	const many = 500
	d := newDataRig(t, map[string]int{"t": many}, nil)
	d.replicate("t")
	s := newShadow(d, many)
	before := s.looks()
	for range 10 {
		s.poll()
	}
	if n := s.looks() - before; n != 0 {
		t.Errorf("%d looks in 10 fetches of nothing", n)
	}
	d.appendTo(77)
	s.poll()
	s.poll()
	s.poll()
	if n := s.looks() - before; s.ends[77] != 1 || s.told[77] != 1 || n > 3 {
		t.Errorf("%d looks for one record, which is at %d of %d; want 3: for the record, for what comes next, for the high watermark", n, s.ends[77], s.told[77])
	}
	before = s.looks()
	for range 60 { // an idle follower asks twice in a second
		d.clock.Advance(500 * time.Millisecond)
		s.poll()
	}
	if n := s.looks() - before; n != walksInLag*many && n != (walksInLag-1)*many {
		t.Errorf("%d looks at %d idle partitions within 30 s, want %d of each", n, many, walksInLag)
	}
}

// TestFollowerHearsOfEverything: whatever happens in whatever order, a follower that asks
// until nothing is new has all records and knows every high watermark, without a walk.
func TestFollowerHearsOfEverything(t *testing.T) {
	const few = 4
	d := newDataRig(t, map[string]int{"t": few}, nil) // one for all checks: each goes on where the last one ended
	d.replicate("t")
	wrote, role, change := make([]int64, few), int32(3), kafka.PartitionEpoch(1)
	seeded.Check(t, func(rt *rapid.T) {
		s := newShadowAt(d, role, wrote)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0: // out of the replicas in sync, and in again
				change += 2
				d.lead(kafka.LeaderEpoch(role), change-1, rigSelf)
				s.poll()
				d.lead(kafka.LeaderEpoch(role), change, rigSelf, 7)
			case 1:
				change++
				role++
				d.lead(kafka.LeaderEpoch(role), change, rigSelf, 7)
				s.role = role
				for i := range int32(few) {
					s.names[i] = true
				}
			case 2, 3, 4, 5:
				p := rapid.Int32Range(0, few-1).Draw(rt, "partition")
				d.appendTo(p)
				wrote[p]++
			default:
				s.poll()
			}
		}
		for range 4 { // records, what comes next, the high watermark, and once more
			s.poll()
		}
		if !slices.Equal(s.ends, wrote) || !slices.Equal(s.told, wrote) {
			rt.Fatalf("it has %v and was told of %v, want %v", s.ends, s.told, wrote)
		}
		s.answers = nil
		if s.poll(); len(s.answers) != 0 {
			rt.Fatalf("told again: %+v", s.answers[0].Topics)
		}
	})
}

// TestNoWakeUpIsLost: a fetch that waits is answered for every append that comes, before,
// while or after it begins to wait. Time stands still: nothing else ends the wait.
func TestNoWakeUpIsLost(t *testing.T) {
	const many, each, writers = 16, 50, 4
	d := newDataRig(t, map[string]int{"t": many}, nil)
	d.replicate("t")
	s := newShadow(d, many)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				d.appendTo(int32((w*7 + i) % many))
			}
		})
	}
	for sum := int64(0); sum < each*writers; {
		m := s.next(math.MaxInt32)
		r, rec := wire.Record(m, "client")
		d.a.fetch(r)
		s.take(answerOf[*kmsg.FetchResponse](d, m, rec))
		sum = 0
		for _, end := range s.ends {
			sum += end
		}
	}
	writing.Wait()
}

// TestNotedIsListed: who finds a partition noted does not wait, and wakes the fetch, which
// must find it in the list then. So it is not noted while nobody can get at the list.
func TestNotedIsListed(t *testing.T) {
	s := new(standing)
	p := &sessionPartition{standing: s}
	var noting sync.WaitGroup
	begun := make(chan struct{}, 2)
	s.mu.Lock()
	for range 2 {
		noting.Go(func() {
			begun <- struct{}{}
			s.note(p)
		})
	}
	<-begun
	<-begun
	for range 10_000 {
		runtime.Gosched()
	}
	if p.moved.Load() {
		t.Error("it is noted before it is listed")
	}
	s.mu.Unlock()
	noting.Wait()
	if len(s.moved) != 1 || !p.moved.Load() {
		t.Errorf("listed %d times", len(s.moved))
	}
}

// TestForgottenPartitionsAreNotWatched: what a follower follows no more tells nobody.
func TestForgottenPartitionsAreNotWatched(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2}, nil)
	d.replicate("t")
	s := newShadow(d, 2)
	m := s.next(0)
	forget := kmsg.NewFetchRequestForgottenTopic()
	forget.TopicID, forget.Partitions = d.ids["t"], []int32{1}
	m.ForgottenTopics = append(m.ForgottenTopics, forget)
	s.take(call[*kmsg.FetchResponse](d, d.a.fetch, m))
	s.answers = nil
	d.appendTo(1)
	if s.poll(); len(s.answers) != 0 {
		t.Errorf("told of what was forgotten: %+v", s.answers[0].Topics)
	}
	d.appendTo(0)
	if s.poll(); s.ends[0] != 1 {
		t.Error("not told of what is followed")
	}
}

// TestIdleFollowerFetchAllocations: however many partitions are followed.
func TestIdleFollowerFetchAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop items at random")
	}
	d := newDataRig(t, map[string]int{"t": 300}, nil)
	d.replicate("t")
	s := newShadow(d, 300)
	conn, sink, r, pool := &wire.ConnInfo{Listener: "TEST"}, new(nullSink), new(wire.Request), new(wire.Responses)
	const runs = 200
	var bodies [][]byte
	for range runs + 1 { // and one to warm up
		bodies = append(bodies, s.next(0).AppendTo(nil))
	}
	next := 0
	if n := testing.AllocsPerRun(runs, func() {
		r.Init(wire.Header{Key: 1, Version: wire.FollowerVersion}, bodies[next], conn, d.clock.Now(), sink, pool)
		d.a.fetch(r)
		next++
	}); n > 0 {
		t.Errorf("%v allocations per fetch, want none", n)
	}
}
