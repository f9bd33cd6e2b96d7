package partition

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
)

// What an answer is that could not wait for its end.
var (
	errNotLeader   = kafka.ErrNotLeaderOrFollower.Err("")
	errStorage     = kafka.ErrKafkaStorageError.Err("")
	errUnderMinISR = kafka.ErrNotEnoughReplicasAfterAppend.Err("")
	errTimedOut    = kafka.ErrRequestTimedOut.Err("")
)

// Wait is what an append waits for before it is answered.
type Wait struct {
	UpTo  kafka.Offset      // Appended.Await
	Epoch kafka.LeaderEpoch // Appended.Epoch
	// All waits for all in-sync replicas, and for the disk if the topic asks for that;
	// else the disk alone is waited for.
	All   bool
	Limit time.Duration // for All; negative: none
}

// NoLimit is a Wait without an end.
const NoLimit time.Duration = -1

// await is a Wait for the in-sync replicas.
type await struct {
	upTo     kafka.Offset
	flush    kafka.Offset // what must be on the disk, too; 0: nothing
	deadline time.Time    // zero: none
	since    time.Time    // with a deadline only
	w        logdir.Waiter
}

// Await tells w when everything below upTo is committed, and on the disk where the
// topic asks for that, for an append of the present leader epoch. It has no limit.
func (p *Partition) Await(upTo kafka.Offset, w logdir.Waiter) {
	p.AwaitWithin(Wait{UpTo: upTo, Epoch: p.role.Load().Epoch, All: true, Limit: NoLimit}, w)
}

// AwaitWithin tells w once how a Wait ends: nil, or a *kafka.Error for the client:
// NOT_LEADER_OR_FOLLOWER when this broker leads no longer, NOT_ENOUGH_REPLICAS_AFTER_APPEND,
// REQUEST_TIMED_OUT, KAFKA_STORAGE_ERROR; any other error is one of the disk. The call
// comes without a lock held, from whoever moves the high watermark, maybe before
// AwaitWithin returns. It must not block.
//
// Waiters are as many as requests are under way, which the server bounds; a coordinator
// bounds its own.
//
// Hot: per append with acks=all on several copies. 0 allocs but the queue's growth.
func (p *Partition) AwaitWithin(q Wait, w logdir.Waiter) {
	role, h := p.role.Load(), p.at()
	if !q.All || role.alone() && role.Leading && role.Epoch == q.Epoch {
		h.dir.Syncer.Wait(&h.pending, q.UpTo, w)
		return
	}
	a := await{upTo: q.UpTo, w: w}
	if q.Limit >= 0 {
		a.since = p.parts.Clock.Now()
		a.deadline = a.since.Add(q.Limit)
	}
	p.mu.Lock()
	role = p.role.Load()
	if !role.Leading || role.Epoch != q.Epoch {
		p.mu.Unlock()
		w.Synced(errNotLeader)
		return
	}
	if q.UpTo <= p.asked && q.UpTo > p.RecoveryPoint() {
		a.flush = q.UpTo
	}
	p.enqueue(a)
	listed := !p.due.IsZero()
	early := !a.deadline.IsZero() && (!listed || a.deadline.Before(p.due))
	if early {
		p.due = a.deadline
	}
	p.mu.Unlock()
	if early {
		p.parts.expireAt(p, a.deadline, listed)
	}
	if a.flush != 0 {
		p.Flush()
	}
	p.release() // it may be committed by now
}

// enqueue puts an await in its place: who appended later waits for more, but may come
// here first. Caller holds mu.
func (p *Partition) enqueue(a await) {
	at := len(p.awaits)
	for at > 0 && p.awaits[at-1].upTo > a.upTo {
		at--
	}
	p.awaits = slices.Insert(p.awaits, at, a)
	p.waiting.Store(int32(len(p.awaits)))
}

// over is an await that has ended.
type over struct {
	w   logdir.Waiter
	err error
}

// releaseBatch is how many awaits are ended in one turn of the lock.
const releaseBatch = 32

// release ends the awaits that are over, after the high watermark, the role, the
// flushing or the directory's state has changed. Caller does not hold mu.
//
// Hot: per change of the high watermark. 0 allocs; one load when nobody waits.
func (p *Partition) release() {
	for more := p.waiting.Load() > 0; more; {
		var batch [releaseBatch]over
		p.mu.Lock()
		n := p.collect(batch[:])
		p.mu.Unlock()
		for _, o := range batch[:n] {
			o.end()
		}
		more = n == len(batch)
	}
}

// end tells the waiter.
func (o *over) end() { o.w.Synced(o.err) }

// collect takes out awaits that are over, until out is full. Caller holds mu.
func (p *Partition) collect(out []over) (n int) {
	failed, done := p.verdict()
	hw, flushed := p.HighWatermark(), kafka.Offset(0)
	if failed == nil {
		flushed = p.RecoveryPoint()
	}
	for n < min(len(p.awaits), len(out)) {
		a := &p.awaits[n]
		switch {
		case failed != nil:
			out[n] = over{a.w, failed}
		case hw >= a.upTo && flushed >= a.flush:
			out[n] = over{a.w, done}
		default:
			p.drop(n)
			return n
		}
		n++
	}
	p.drop(n)
	return n
}

// verdict is how every await ends at once, nil: it goes on; and how one ends whose
// records are committed. Caller holds mu.
func (p *Partition) verdict() (failed, done error) {
	role := p.role.Load()
	if role.underMin(p.config.Load().Topic.MinInsyncReplicas) {
		done = errUnderMinISR
	}
	switch {
	case p.Offline() != nil:
		return errStorage, done
	case !role.Leading || p.parts.stopping.Load():
		return errNotLeader, done
	}
	return nil, done
}

// Stop says that the broker stops: nobody waits for replicas any more once EndWaits was
// called for every partition.
func (p *Parts) Stop() { p.stopping.Store(true) }

// EndWaits ends what waits for replicas, after Stop: who asks elsewhere finds out what
// became of the records.
func (p *Partition) EndWaits() { p.release() }

// drop removes the first n awaits. Caller holds mu.
func (p *Partition) drop(n int) {
	p.awaits = slices.Delete(p.awaits, 0, n)
	p.waiting.Store(int32(len(p.awaits)))
}

// expire ends the awaits whose time is over, and returns when the next one ends; zero:
// none has a limit.
func (p *Partition) expire(now time.Time) (next time.Time) {
	var late []logdir.Waiter
	p.mu.Lock()
	p.awaits = slices.DeleteFunc(p.awaits, func(a await) bool {
		switch {
		case a.deadline.IsZero():
		case !a.deadline.After(now):
			late = append(late, a.w)
			return true
		case next.IsZero() || a.deadline.Before(next):
			next = a.deadline
		}
		return false
	})
	p.waiting.Store(int32(len(p.awaits)))
	p.due = next
	p.mu.Unlock()
	for _, w := range late {
		w.Synced(errTimedOut)
	}
	return next
}
