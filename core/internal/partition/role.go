package partition

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// Role is what the cluster wants this broker to be for a partition. It is
// immutable.
type Role struct {
	Leading           bool           // this broker leads
	Leader            kafka.BrokerID // who leads; NoBroker: nobody
	Epoch             kafka.LeaderEpoch
	PartitionEpoch    kafka.PartitionEpoch
	ReplicationFactor int
	Alone             bool // the ISR is {self}

	// Filled in by SetRole when this broker begins to lead.
	start   kafka.Offset      // log end at that moment
	written kafka.LeaderEpoch // what batches are stamped with: Epoch, or the log's own when that is later
}

// inSync counts the copies that an append may rely on: until replication moves
// in, the leader's own.
func (r *Role) inSync() int { return 1 }

// commits reports whether the high watermark may follow the log end: it stands
// still while fewer copies are in sync than min.insync.replicas asks for, bounded
// by how many there are at all (KIP-966).
func (r *Role) commits(minInSync int) bool {
	return r.Alone && r.inSync() >= r.effective(minInSync)
}

// effective is min.insync.replicas as it counts: a topic can't have more copies
// in sync than it has copies.
func (r *Role) effective(minInSync int) int { return min(minInSync, r.ReplicationFactor) }

// Role is the present role; its zero epoch means none yet. It costs one atomic
// load.
func (p *Partition) Role() *Role { return p.role.Load() }

// SetRole takes over a role. A new leader writes its epoch into the log's epoch
// history before it serves, even when no record follows (KIP-101, KIP-279).
// Waiting requests are woken to look at the new role.
func (p *Partition) SetRole(r Role) error {
	if err := p.Offline(); err != nil {
		p.role.Store(&r)
		return err
	}
	old := p.role.Load()
	if r.Epoch < old.Epoch {
		panic(fmt.Sprintf("BUG: %s: leader epoch goes back from %d to %d", p.tp, old.Epoch, r.Epoch))
	}
	r.start, r.written = old.start, old.written
	if r.Leading && (!old.Leading || r.Epoch != old.Epoch) {
		if err := p.startEpoch(&r); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.role.Store(&r)
	n := p.advance(&r)
	p.mu.Unlock()
	p.purgatory.Advance(&p.waiters, n)
	if !old.Leading || !r.Leading || r.Epoch != old.Epoch {
		p.purgatory.Nudge(&p.waiters)
	}
	return nil
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

// advance moves the high watermark as far as the role and the flushing allow, and
// returns the bytes that became visible, or more while not all of them did: who
// waits for bytes reads again anyway. Caller holds mu.
func (p *Partition) advance(r *Role) int64 {
	c := p.config.Load()
	if !r.Leading || !r.commits(c.Topic.MinInsyncReplicas) {
		return 0
	}
	at := p.Log()
	log := at.EndOffset()
	end := log
	if c.Log.FlushMessages == 1 { // nobody sees what a power failure may still take
		end = min(log, max(at.RecoveryPoint(), r.start))
	}
	if int64(end) <= p.hw.Load() {
		return 0
	}
	p.hw.Store(int64(end))
	n := max(p.unseen, 1)
	if end == log {
		p.unseen = 0
	}
	return n
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
// epoch, the leadership, in Kafka's order.
func (p *Partition) admitReader(r *Role, claimed kafka.LeaderEpoch) kafka.ErrorCode {
	if p.Offline() != nil {
		return kafka.ErrKafkaStorageError
	}
	if code := r.checkEpoch(claimed); code != kafka.None {
		return code
	}
	if !r.Leading {
		return kafka.ErrNotLeaderOrFollower
	}
	return kafka.None
}
