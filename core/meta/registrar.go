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
	// CleanShutdown says that every log directory was closed in order, so that
	// nothing acknowledged by this broker can be missing. Without it the leader
	// epochs of the partitions that it leads go up: a client that read records
	// which a power cut took away then finds out by the epoch (KIP-320).
	CleanShutdown bool

	// ProducerIDs is larger than every producer id in the broker's logs; 0: there
	// is none. Ids that are handed out from now on are not smaller. Files that came
	// from another cluster hold ids that this one did not hand out: a producer that
	// got one again could have its first records taken for duplicates.
	ProducerIDs kafka.ProducerID
	// LaterEpochs are the partitions whose logs have a later leader epoch than the
	// image: files that came from elsewhere. Their epochs go beyond it, or clients
	// that have seen the log's would take the cluster's answers for old ones.
	LaterEpochs []LogEpoch
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
// Cost: a walk over all topics after an unclean stop, once per start: about 25 ms
// for 100,000 partitions.
func (i *Image) Register(e *Edit, r *Registration, epoch kafka.BrokerEpoch) {
	e.PutBroker(&Broker{ID: r.ID, Epoch: epoch, Rack: r.Rack, Endpoints: r.Endpoints, LogDirs: r.LogDirs})
	if r.ProducerIDs > i.NextProducerID && r.ProducerIDs <= producerIDsMax {
		e.SetNextProducerID(r.ProducerIDs)
	}
	floors := map[kafka.TopicID][]LogEpoch{}
	for _, l := range r.LaterEpochs {
		floors[l.TopicID] = append(floors[l.TopicID], l)
	}
	if r.CleanShutdown && len(floors) == 0 {
		return
	}
	for t := range i.Topics() {
		if next := t.raised(r, floors[t.ID]); next != nil {
			e.PutTopic(next)
		}
	}
}

// raised is the topic with the leader epochs that follow from a registration; nil:
// they stay.
func (t *Topic) raised(r *Registration, floors []LogEpoch) *Topic {
	var next *Topic
	raise := func(n int, to kafka.LeaderEpoch) {
		if next == nil {
			next = &Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
		}
		p := &next.Partitions[n]
		p.LeaderEpoch, p.PartitionEpoch = max(p.LeaderEpoch, to), t.Partitions[n].PartitionEpoch+1
	}
	for n := range t.Partitions {
		if p := &t.Partitions[n]; !r.CleanShutdown && p.Leader == r.ID {
			raise(n, p.LeaderEpoch+1)
		}
	}
	for _, l := range floors {
		if l.Partition < 0 || int(l.Partition) >= len(t.Partitions) || l.Epoch == math.MaxInt32 {
			continue
		}
		if p := &t.Partitions[l.Partition]; p.Leader == r.ID && p.LeaderEpoch <= l.Epoch {
			raise(int(l.Partition), l.Epoch+1)
		}
	}
	return next
}
