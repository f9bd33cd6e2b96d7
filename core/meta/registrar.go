package meta

import (
	"context"
	"math"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Registrar lets a broker tell the cluster that it is there and where clients
// find it. It stands beside Control because only the broker's own start uses it.
type Registrar interface {
	// RegisterBroker makes the broker known and returns the epoch of this
	// registration. When it returns, Image includes it. A broker registers once
	// per start, after it knows the ports that it listens on.
	RegisterBroker(ctx context.Context, r Registration) (kafka.BrokerEpoch, error)
}

// Registration is what a broker says of itself when it starts.
type Registration struct {
	ID        kafka.BrokerID
	Rack      string // empty: none
	Endpoints []Endpoint
	LogDirs   []kafka.TopicID // directory ids
	Peer      string          // host:port where other nodes reach it; empty: it is alone
	// CleanShutdown says that every log directory was closed in order, so that
	// nothing acknowledged by this broker can be missing. Without it the broker is no
	// longer in sync with anybody, and the leader epochs of what it still leads go up:
	// a client that read records which a power cut took away then finds out by the
	// epoch (KIP-320).
	CleanShutdown bool
	// PreviousEpoch is the epoch of the registration that ended with the clean
	// shutdown; 0: it was not written down. Another one than the cluster knows means
	// that the directories are older than they should be: then it was not clean.
	PreviousEpoch kafka.BrokerEpoch

	// Attempt is a random number: a registration that was sent again, because nobody
	// knew what became of it, has the same. 0: Registrar makes one.
	Attempt uint64
	// MinISR and Unclean are min.insync.replicas and unclean.leader.election.enable of
	// its settings file. They stay as long as the registration.
	MinISR  int
	Unclean bool

	// ProducerIDs is larger than every producer id in the broker's logs; 0: there
	// is none. Ids that are handed out from now on are not smaller. Files that came
	// from another cluster hold ids that this one did not hand out: a producer that
	// got one again could have its first records taken for duplicates.
	ProducerIDs kafka.ProducerID
	// LaterEpochs are the partitions whose logs have a later leader epoch than the
	// image: files that came from elsewhere. Their epochs go beyond it, or clients
	// that have seen the log's would take the cluster's answers for old ones.
	LaterEpochs []LogEpoch

	// Missing are partitions that the broker should have (Image.Expects) and does not,
	// because it has not the disks that it had. It has not stopped cleanly then, whatever CleanShutdown
	// says, and does not lead them before it has copied them, not even when nobody else is
	// in sync: what others have would be cut to nothing. (Where unclean elections are allowed
	// it may, as any replica, when no other one is alive.)
	Missing []PartitionID
}

// Expects says whether a broker should have the log of a partition that has other
// replicas, too: it is in sync or eligible, or led last, and something has become of the
// partition since it was made.
func (i *Image) Expects(broker kafka.BrokerID, id PartitionID) bool {
	t, ok := i.TopicByID(id.Topic)
	if !ok || int(id.Partition) >= len(t.Partitions) {
		return false
	}
	p := &t.Partitions[id.Partition]
	return len(p.Replicas) > 1 && p.PartitionEpoch > 0 &&
		(slices.Contains(p.ISR, broker) || slices.Contains(p.ELR, broker) || p.LastKnownLeader == broker)
}

// LogEpoch is the last leader epoch in the log of a partition.
type LogEpoch struct {
	TopicID   kafka.TopicID
	Partition int32
	Epoch     kafka.LeaderEpoch
}

// producerIDsMax bounds what a log can make of the cluster's next producer id: a
// damaged one must not use all ids up.
const producerIDsMax = kafka.ProducerID(math.MaxInt64 / 2)

// Register puts a broker that has started into the edit of i, which must be empty:
// what it says of itself, and what follows from it for partitions and producer ids.
//
// A broker that may have lost records leaves every ISR and ELR (KIP-966), but for a
// partition that nobody else has in sync: there it stays the leader with a higher
// epoch, unless it has nothing of it. Then it leads what nobody leads and it can.
//
// Cost: a look at what has a replica on the broker after an unclean stop, once per start.
// After a clean one there is none, unless partitions are without a leader.
func (i *Image) Register(e *Edit, r *Registration, epoch kafka.BrokerEpoch) {
	if r.ProducerIDs > i.NextProducerID && r.ProducerIDs <= producerIDsMax {
		e.SetNextProducerID(r.ProducerIDs)
	}
	d, later := i.Draft(), r.laterEpochs()
	before := d.lowestMinISR()
	if !r.clean(i) {
		d.brokers[r.ID] = nil // who it was can lead nothing
		d.losesRecords(r, later)
	}
	d.brokers[r.ID] = &Broker{ID: r.ID, Epoch: epoch, Rack: r.Rack, Endpoints: r.Endpoints, LogDirs: r.LogDirs, Peer: r.Peer,
		Attempt: r.Attempt, MinISR: r.MinISR, Unclean: r.Unclean}
	d.forgetRules()
	if d.lowestMinISR() < before {
		d.lookAgain()
	}
	d.electLeaderless(r.ID)
	for id, least := range later {
		d.raiseEpoch(id, r.ID, least)
	}
	d.Put(e)
}

// clean says whether the broker has every record that it had when it was here last.
func (r *Registration) clean(i *Image) bool {
	last, known := i.Broker(r.ID)
	if known && r.Attempt != 0 && r.Attempt == last.Attempt {
		return true // all that follows was done the first time
	}
	return r.CleanShutdown && len(r.Missing) == 0 && (!known || r.PreviousEpoch == 0 || r.PreviousEpoch == last.Epoch)
}

// laterEpochs are the least epochs that the logs of the broker ask for.
func (r *Registration) laterEpochs() map[PartitionID]kafka.LeaderEpoch {
	least := map[PartitionID]kafka.LeaderEpoch{}
	for _, l := range r.LaterEpochs {
		if id := (PartitionID{l.TopicID, l.Partition}); l.Epoch != math.MaxInt32 {
			least[id] = max(least[id], l.Epoch+1)
		}
	}
	return least
}

// missing is what the broker has nothing of.
func (r *Registration) missing() map[PartitionID]bool {
	set := make(map[PartitionID]bool, len(r.Missing))
	for _, id := range r.Missing {
		set[id] = true
	}
	return set
}

// losesRecords takes a broker that stopped without order, and is not alive in the
// draft, out of every ISR and ELR. What only it has it leads on with a new epoch, at
// least that of later; what is missing and has other replicas it does not lead.
func (d *Draft) losesRecords(r *Registration, later map[PartitionID]kafka.LeaderEpoch) {
	id, missing := r.ID, r.missing()
	onlyHere := func(p *Partition) bool {
		return p.Leader == id && len(p.ISR) == 1 && len(without(p.ELR, id)) == 0
	}
	itself := func(other kafka.BrokerID) bool { return other == id }
	for where := range d.old.PartitionsOn(id) {
		t, p := d.partition(where)
		if p == nil || !onlyHere(p) {
			continue
		}
		c := d.change(t)
		if missing[where] && len(p.Replicas) > 1 {
			c.ISR, c.Lost = without(p.ISR, id), p.ISR
		} else {
			c.Alive = itself
			c.LeaderEpoch = max(p.LeaderEpoch+1, later[where])
		}
		d.apply(t, int(where.Partition), &c)
	}
	d.forget(id, func(p *Partition) bool { return !onlyHere(p) })
	for _, where := range r.Missing {
		d.ledByNobody(where, id)
	}
}

// ledByNobody has a broker that has nothing of a partition not be elected for having led
// it last.
func (d *Draft) ledByNobody(where PartitionID, last kafka.BrokerID) {
	t, p := d.partition(where)
	if p == nil || p.Leader != kafka.NoBroker || p.LastKnownLeader != last || len(p.Replicas) == 1 {
		return
	}
	p = &d.own(t).Partitions[where.Partition]
	p.LastKnownLeader = kafka.NoBroker
	p.PartitionEpoch++
}

// raiseEpoch gives a partition that the broker leads an epoch of at least least.
func (d *Draft) raiseEpoch(id PartitionID, leader kafka.BrokerID, least kafka.LeaderEpoch) {
	if t, p := d.partition(id); p != nil && p.Leader == leader {
		c := d.change(t)
		c.LeaderEpoch = least
		d.apply(t, int(id.Partition), &c)
	}
}
