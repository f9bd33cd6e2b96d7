package coordinator

import (
	"errors"
	"math"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// endOfTime is an offset that is beyond all.
const endOfTime = kafka.Offset(math.MaxInt64)

// held are answers that may go out once the log is committed below end: what they say
// could still be lost with this broker until then.
type held struct {
	end     kafka.Offset
	due     int64 // when they are given up, ms
	replies []group.Reply
}

// hold keeps answers back until what is below end is committed, or for as long as
// offsets.commit.timeout.ms says. Caller holds mu.
func (s *shard) hold(now int64, end kafka.Offset, replies []group.Reply) {
	due := now + s.c.o.Config().WriteTimeoutMS
	if n := len(s.held); n > 0 {
		if last := &s.held[n-1]; last.end == end && (last.due == due || len(last.replies) == 0) {
			last.due, last.replies = due, append(last.replies, replies...)
			return
		}
	}
	s.held = append(s.held, held{end: end, due: due, replies: replies})
}

// release takes the answers out that wait for nothing beyond end. Caller holds mu.
func (s *shard) release(end kafka.Offset) (ready []group.Reply) {
	for len(s.held) > 0 && s.held[0].end <= end {
		ready = append(ready, s.held[0].replies...)
		s.held = s.held[1:]
	}
	return ready
}

// due is when the next answers are given up; false: none waits. Caller holds mu.
func (s *shard) due() (int64, bool) {
	for i := range s.held {
		if len(s.held[i].replies) > 0 {
			return s.held[i].due, true
		}
	}
	return 0, false
}

// late takes the answers out that have waited too long, as refusals. What they are
// about stays written, and counts when it is committed; whoever comes later still
// waits for that. Caller holds mu.
func (s *shard) late(now int64) (late []group.Reply) {
	kept := s.held[:0]
	for i, h := range s.held {
		if h.due <= now {
			late, h.replies = append(late, h.replies...), nil
		}
		if len(h.replies) > 0 || i == len(s.held)-1 {
			kept = append(kept, h)
		}
	}
	clear(s.held[len(kept):])
	s.held = kept
	refuse(late, kafka.ErrCoordinatorNotAvailable)
	return late
}

// refuse turns answers into refusals.
func refuse(replies []group.Reply, code kafka.ErrorCode) {
	for i := range replies {
		replies[i].Message = group.Refusal(replies[i].Message, code)
	}
}

// awaitsMax is how many waits of a shard its partition has at once. Those whose answers
// were given up go on, and a log may not be committed for as long as nobody decides who
// is in sync.
const awaitsMax = 1024

// await waits until what is below end is committed, or leaves that to the waits that are
// under way. Caller does not hold mu.
func (s *shard) await(end kafka.Offset) {
	s.mu.Lock()
	more := s.awaits < awaitsMax
	if more {
		s.awaits++
	}
	s.mu.Unlock()
	if more {
		s.awaitNow(end)
	}
}

// awaitNow is await for a wait that is counted.
func (s *shard) awaitNow(end kafka.Offset) {
	s.part.AwaitWithin(partition.Wait{UpTo: end, Epoch: s.epoch, All: true, Limit: partition.NoLimit}, &committed{shard: s, end: end})
}

// committed waits until what is below end can't be lost with this broker.
type committed struct {
	shard *shard
	end   kafka.Offset
}

// Synced implements logdir.Waiter. It waits for no lock: it may be the shard's own next
// append, made with the lock held, that tells of what was committed meanwhile. Whoever
// waits in its place ends with the operation that has the lock; after Close it finds
// nothing left to answer.
func (c *committed) Synced(err error) {
	if c.shard.mu.TryLock() {
		c.over(err)
		return
	}
	go func() {
		c.shard.mu.Lock()
		c.over(err)
	}()
}

// over ends the wait. That fewer replicas are in sync by now than the topic asks for takes
// nothing back that they have. Caller holds the shard's mu, which it lets go.
func (c *committed) over(err error) {
	var known *kafka.Error
	if errors.As(err, &known) && known.Code == kafka.ErrNotEnoughReplicasAfterAppend {
		err = nil
	}
	s := c.shard
	ready, next := s.reached(c.end)
	s.mu.Unlock()
	if err != nil { // the log may not have what the state has, or is another's now
		refuse(ready, kafka.ErrNotCoordinator)
		s.unload()
	}
	send(ready)
	if next != kafka.NoOffset && err == nil {
		s.awaitNow(next)
	}
}

// reached ends a wait: it takes out the answers that may go, and returns what to wait for
// next if nobody else waits for those that are left; NoOffset: nothing. Caller holds mu.
func (s *shard) reached(end kafka.Offset) (ready []group.Reply, next kafka.Offset) {
	s.awaits--
	ready = s.release(end)
	if s.awaits > 0 || len(s.held) == 0 {
		return ready, kafka.NoOffset
	}
	s.awaits++
	return ready, s.held[len(s.held)-1].end
}
