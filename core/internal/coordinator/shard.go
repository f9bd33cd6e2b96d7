package coordinator

import (
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
)

// produceVersion is the version of Produce under which records are appended: the
// newest, so that every codec is allowed.
const produceVersion = 13

// status is where a shard is in its life.
type status uint8

const (
	statusLoading status = iota
	statusActive
	statusFailed // could not be loaded
	statusEnded
)

// shard coordinates the groups of one partition, under one leader epoch.
type shard struct {
	c     *Coordinator
	part  *partition.Partition
	epoch kafka.LeaderEpoch

	mu     sync.Mutex
	status status       // guarded by mu
	state  *group.State // guarded by mu; the loader's alone while it loads
	timer  clock.Timer  // guarded by mu; nil: never armed
	armed  int64        // when timer fires, ms; 0: not armed
	held   []held       // answers that wait to be committed, oldest first; guarded by mu
	awaits int          // waits that the partition has, or gets at once; guarded by mu

	// dropped is the last image of which no deleted topic has offsets here any more; nil:
	// there was none. Guarded by mu.
	dropped *meta.Image

	lookups []group.Lookup // that wait, or are run, by the one goroutine for them; guarded by mu
	looking bool           // it is there; guarded by mu
}

func newShard(c *Coordinator, p *partition.Partition, epoch kafka.LeaderEpoch) *shard {
	return &shard{c: c, part: p, epoch: epoch, state: group.New(c.o.Config().Groups, c.o.Rules, c.o.IDs)}
}

// do runs one operation.
//
// Hot: per request. The lock is held over memory and at most one write.
func (s *shard) do(op func(*group.State, int64) group.Output) kafka.ErrorCode {
	s.mu.Lock()
	if code := s.admit(); code != kafka.None {
		s.mu.Unlock()
		return code
	}
	now := s.now()
	s.state.Configure(s.c.o.Config().Groups)
	d := s.settle(now, op(s.state, now))
	s.arm(now)
	s.look()
	s.mu.Unlock()
	s.finish(d)
	return kafka.None
}

// admit says whether operations are taken. Caller holds mu.
func (s *shard) admit() kafka.ErrorCode {
	switch s.status {
	case statusLoading:
		return kafka.ErrCoordinatorLoadInProgress
	case statusActive:
		return kafka.None
	}
	return kafka.ErrNotCoordinator
}

// now is the time in milliseconds.
func (s *shard) now() int64 { return clock.Millis(s.c.o.Clock.Now()) }

// done is what is left to do without the lock.
type done struct {
	code    kafka.ErrorCode // of the last append
	replies []group.Reply   // to send
	await   kafka.Offset    // end of what must be committed first; NoOffset: nothing
}

// settle appends what an operation wants written, until nothing more follows, and
// holds back the answers if they wait for a flush. Caller holds mu.
func (s *shard) settle(now int64, out group.Output) done {
	d := done{await: kafka.NoOffset}
	for len(out.Records) > 0 {
		code, await := s.append(now, out.Records)
		if await != kafka.NoOffset {
			d.await = await
		}
		d.code = code
		out = s.state.Appended(now, out, code)
	}
	switch {
	case d.await != kafka.NoOffset:
		s.hold(now, d.await, out.Replies)
	case len(s.held) > 0: // what they saw is not committed yet
		s.hold(now, s.held[len(s.held)-1].end, out.Replies)
	default:
		d.replies = out.Replies
	}
	return d
}

// append writes records as one batch. Caller holds mu.
func (s *shard) append(now int64, records []group.Record) (kafka.ErrorCode, kafka.Offset) {
	if s.part.Role().Epoch != s.epoch {
		return kafka.ErrNotLeaderOrFollower, kafka.NoOffset
	}
	b := record.NewBuilder(record.PlainOptions(s.c.o.Config().Codec))
	for i := range records {
		b.Append(now, records[i].Key, records[i].Value, nil)
	}
	got := s.part.Append(&partition.Append{Batch: b.Bytes(), Acks: partition.AllReplicas, Version: produceVersion})
	if got.Code != kafka.None {
		s.c.o.Log.Warn("group records not appended", "partition", s.part.TopicPartition().String(), "records", len(records), "error", got.Code.String(), "why", got.Message)
		return got.Code, kafka.NoOffset
	}
	s.c.metrics.commits.Add(uint64(len(records)))
	return kafka.None, got.Await
}

// finish does what needs no lock. Caller does not hold mu.
func (s *shard) finish(d done) {
	if d.await != kafka.NoOffset {
		s.await(d.await)
	}
	send(d.replies)
}

// send sends answers.
func send(replies []group.Reply) {
	for _, r := range replies {
		r.To.Answer(r.Message)
	}
}

// arm sets the timer to the next deadline, if that comes before it fires anyway.
// Caller holds mu.
func (s *shard) arm(now int64) {
	next, ok := s.state.Next()
	if due, waits := s.due(); waits && (!ok || due < next) {
		next, ok = due, true
	}
	if !ok || s.armed != 0 && s.armed <= next {
		return
	}
	s.armed = max(next, 1)
	d := time.Duration(max(next-now, 0)) * time.Millisecond
	if s.timer == nil {
		s.timer = s.c.o.Clock.AfterFunc(d, s.tick)
		return
	}
	s.timer.Reset(d)
}

// tick does what has come due.
func (s *shard) tick() {
	s.mu.Lock()
	s.armed = 0
	if s.status != statusActive {
		s.mu.Unlock()
		return
	}
	now := s.now()
	s.state.Configure(s.c.o.Config().Groups)
	todo := []done{{await: kafka.NoOffset, replies: s.late(now)}}
	for {
		out, ok := s.state.Expire(now)
		if !ok {
			break
		}
		todo = append(todo, s.settle(now, out))
	}
	s.arm(now)
	s.mu.Unlock()
	for _, d := range todo {
		s.finish(d)
	}
}

// unload ends the shard: everybody who waits is told to look for the coordinator.
func (s *shard) unload() {
	s.mu.Lock()
	if s.status == statusEnded {
		s.mu.Unlock()
		return
	}
	was := s.status
	s.status = statusEnded
	if s.timer != nil {
		s.timer.Stop()
	}
	replies := s.release(endOfTime)
	refuse(replies, kafka.ErrNotCoordinator)
	if was == statusActive {
		replies = append(replies, s.state.Unload().Replies...)
	}
	s.mu.Unlock()
	send(replies)
}
