package partition

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/isr"
	"github.com/mortisemq/mortise/core/kafka"
)

// Role is what the cluster wants this broker to be for a partition. It is
// immutable.
type Role struct {
	Leading        bool           // this broker leads
	Leader         kafka.BrokerID // who leads; NoBroker: nobody
	Epoch          kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	Replicas       []kafka.BrokerID // in order of preference
	ISR            []kafka.BrokerID // as the cluster has agreed on it
	Recovering     bool             // the leader was elected without having been in sync

	// Filled in by SetRole when this broker begins to lead.
	start   kafka.Offset      // log end at that moment
	written kafka.LeaderEpoch // what batches are stamped with: Epoch, or the log's own when that is later
}

// alone reports whether this is the only copy.
func (r *Role) alone() bool { return len(r.Replicas) <= 1 }

// underMin reports whether fewer copies are in sync than min.insync.replicas asks for,
// bounded by how many copies there are: the high watermark stands still then (KIP-966).
func (r *Role) underMin(minInSync int) bool {
	return len(r.ISR) < min(minInSync, max(len(r.Replicas), 1))
}

// isNewsTo reports whether a role is neither the same as the present one nor older,
// within its leader epoch.
func (r *Role) isNewsTo(o *Role) bool {
	if r.Epoch == o.Epoch && r.PartitionEpoch <= o.PartitionEpoch {
		return r.PartitionEpoch == o.PartitionEpoch && (r.Leading != o.Leading || r.Leader != o.Leader)
	}
	return true
}

// Role is the present role; its zero epoch means none yet. It costs one atomic
// load.
func (p *Partition) Role() *Role { return p.role.Load() }

// SetRole takes over a role. A new leader writes its epoch into the log's epoch
// history before it serves, even when no record follows (KIP-101, KIP-279). A follower
// keeps its log as it is: only the leader's answers say what of it must go. Waiting
// requests are woken to look at the new role.
//
// A role of an earlier partition epoch than the present one is passed over: the answer
// to a change that this leader asked for may come before the image that has it.
func (p *Partition) SetRole(r Role) error {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	if err := p.Offline(); err != nil {
		p.role.Store(&r)
		p.release()
		return err
	}
	old := p.role.Load()
	if r.Epoch < old.Epoch {
		panic(fmt.Sprintf("BUG: %s: leader epoch goes back from %d to %d", p.tp, old.Epoch, r.Epoch))
	}
	if !r.isNewsTo(old) {
		return nil
	}
	r.start, r.written = old.start, old.written
	begins := r.Leading && (!old.Leading || r.Epoch != old.Epoch)
	if begins {
		if err := p.startEpoch(&r); err != nil {
			return err
		}
	}
	n, taken := p.take(&r, begins)
	if !taken {
		return nil
	}
	if !r.Leading {
		p.dropEmptyEpochs()
	}
	p.visible(n)
	p.release()
	if !old.Leading || !r.Leading || r.Epoch != old.Epoch {
		p.purgatory.Nudge(&p.waiters)
		p.purgatory.Nudge(&p.replicaWaiters)
	} else if len(r.ISR) < len(old.ISR) {
		p.purgatory.Nudge(&p.replicaWaiters) // who is not in sync any more may have all there is, and want to be
	}
	return nil
}

// take puts a role in force, unless an answer to this leader brought a later one while it
// was looked at: that one says who is in sync, and must not be forgotten again. It
// returns what advance does.
func (p *Partition) take(r *Role, begins bool) (visible int64, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.role.Load()
	if !r.isNewsTo(is) {
		return 0, false
	}
	p.followers = p.view(r, begins)
	p.silent = false
	if r.Leading && !begins {
		p.count(is, r)
	}
	p.role.Store(r)
	return p.advance(r), true
}

// dropEmptyEpochs makes the log of a follower end with the epoch of its last record.
func (p *Partition) dropEmptyEpochs() {
	h := p.at()
	if err := h.withReserve(h.log.ForgetEmptyEpochs); err != nil && !errors.Is(err, commitlog.ErrClosed) {
		h.failed("leader epochs of a follower", err)
	}
}

// view is what the leader knows of its followers under a new role; nil: it has none, or
// does not lead. Caller holds mu.
func (p *Partition) view(r *Role, begins bool) *isr.State {
	switch {
	case !r.Leading || r.alone():
		return nil
	case begins || p.followers == nil:
		return isr.Lead(r.Leader, r.Replicas, r.ISR, r.start, p.parts.Clock.Now())
	}
	p.followers.Assign(r.Replicas, r.ISR)
	return p.followers
}

// startEpoch stops appends of the old role and begins the new epoch at the log
// end.
func (p *Partition) startEpoch(r *Role) error {
	stopped := *r
	stopped.Leading = false
	p.mu.Lock()
	p.role.Store(&stopped)
	p.mu.Unlock()
	h := p.at()
	r.start, r.written = h.log.EndOffset(), r.Epoch
	if latest := h.log.LatestEpoch(); latest > r.Epoch {
		p.parts.Log.Warn("the log knows a later leader epoch than the cluster: its files come from elsewhere, or the cluster's state was restored from a copy; it is served, and new batches carry the log's epoch",
			"partition", p.tp.String(), "log_epoch", latest, "cluster_epoch", r.Epoch)
		r.written = latest
	}
	err := h.withReserve(func() error { return h.log.AssignEpoch(r.written, r.start) })
	if err != nil {
		h.failed("leader epoch", err)
		return fmt.Errorf("%s: leader epoch %d at %d: %w", p.tp, r.written, r.start, err)
	}
	return nil
}

// advance moves the high watermark of a leader as far as the followers and the flushing
// allow, and returns the bytes that became visible, or more while not all of them did:
// who waits for bytes reads again anyway. Caller holds mu, and tells visible and release
// afterwards.
func (p *Partition) advance(r *Role) int64 {
	c := p.config.Load()
	if !r.Leading || r.underMin(c.Topic.MinInsyncReplicas) {
		return 0
	}
	at := p.Log()
	log := at.EndOffset()
	end := log
	if p.followers != nil {
		rules := p.parts.rules(c)
		end = p.followers.HighWatermark(p.HighWatermark(), log, p.parts.Clock.Now(), &rules)
	}
	if c.Log.FlushMessages == 1 { // nobody sees what a power failure may still take
		end = min(end, max(at.RecoveryPoint(), r.start))
	}
	return p.raise(end, log)
}

// raise moves the high watermark forward to hw, and returns what advance does. Caller
// holds mu.
func (p *Partition) raise(hw, end kafka.Offset) int64 {
	if int64(hw) <= p.hw.Load() {
		return 0
	}
	p.hw.Store(int64(hw))
	p.silent = false
	p.at().dir.Changed()
	n := max(p.unseen, 1)
	if hw == end {
		p.unseen = 0
	}
	return n
}

// visible wakes readers that wait for bytes below the high watermark. Caller does not
// hold mu.
func (p *Partition) visible(n int64) {
	if n <= 0 {
		return
	}
	p.purgatory.Advance(&p.waiters, n)
	if tell := p.parts.TellFollowers; tell != nil && len(p.role.Load().Replicas) > 1 && tell() {
		p.purgatory.Nudge(&p.replicaWaiters)
	}
}

// checkEpoch compares the epoch that a client believes in with ours;
// NoLeaderEpoch is not compared (KIP-320).
func (r *Role) checkEpoch(claimed kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case claimed == kafka.NoLeaderEpoch || claimed == r.Epoch:
		return kafka.None
	case claimed < r.Epoch:
		return kafka.ErrFencedLeaderEpoch
	}
	return kafka.ErrUnknownLeaderEpoch
}

// admitReader checks what every request to a leader must pass: a usable log, the
// epoch, the leadership, in Kafka's order. anywhere: a follower may answer, too.
func (p *Partition) admitReader(r *Role, claimed kafka.LeaderEpoch, anywhere bool) kafka.ErrorCode {
	if p.Offline() != nil {
		return kafka.ErrKafkaStorageError
	}
	if code := r.checkEpoch(claimed); code != kafka.None {
		return code
	}
	if !r.Leading && !anywhere {
		return kafka.ErrNotLeaderOrFollower
	}
	return kafka.None
}
