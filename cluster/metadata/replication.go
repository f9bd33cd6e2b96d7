package metadata

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// AlterISR changes in-sync replicas as a leader asks, each partition by itself.
type AlterISR struct {
	From    kafka.BrokerID    `cbor:"1,keyasint"`
	Epoch   kafka.BrokerEpoch `cbor:"2,keyasint"`
	Changes []ISRChange       `cbor:"3,keyasint"`
}

// ISRChange is meta.ISRChange. The parts of ISR are ids and epochs by turns, because
// there are many.
type ISRChange struct {
	Topic          kafka.TopicID        `cbor:"1,keyasint"`
	Partition      int32                `cbor:"2,keyasint"`
	LeaderEpoch    kafka.LeaderEpoch    `cbor:"3,keyasint"`
	PartitionEpoch kafka.PartitionEpoch `cbor:"4,keyasint"`
	ISR            []ISRReplica         `cbor:"5,keyasint"`
	Recovered      bool                 `cbor:"6,keyasint,omitempty"`
	Failed         bool                 `cbor:"7,keyasint,omitempty"`
	Full           bool                 `cbor:"8,keyasint,omitempty"`
}

// ISRReplica is meta.ISRReplica.
type ISRReplica struct {
	_     struct{} `cbor:",toarray"`
	ID    kafka.BrokerID
	Epoch kafka.BrokerEpoch
}

// FenceBroker takes a broker out of service: it is not heard of any more.
type FenceBroker struct {
	ID    kafka.BrokerID    `cbor:"1,keyasint"`
	Epoch kafka.BrokerEpoch `cbor:"2,keyasint"`
}

// UnfenceBroker takes a broker back into service, fenced or shutting down.
type UnfenceBroker struct {
	ID    kafka.BrokerID    `cbor:"1,keyasint"`
	Epoch kafka.BrokerEpoch `cbor:"2,keyasint"`
	// Drained takes back a shutdown only: a broker that is fenced stays so.
	Drained bool `cbor:"3,keyasint,omitempty"`
}

// BeginShutdown moves away what a broker has that wants to stop.
type BeginShutdown struct {
	ID    kafka.BrokerID    `cbor:"1,keyasint"`
	Epoch kafka.BrokerEpoch `cbor:"2,keyasint"`
}

// SetFull notes whether a broker's log directories have room.
type SetFull struct {
	ID    kafka.BrokerID    `cbor:"1,keyasint"`
	Epoch kafka.BrokerEpoch `cbor:"2,keyasint"`
	Full  bool              `cbor:"3,keyasint,omitempty"`
}

// ElectLeaders holds elections.
type ElectLeaders struct {
	Kind       meta.ElectionKind `cbor:"1,keyasint"`
	All        bool              `cbor:"2,keyasint,omitempty"`
	Partitions []PartitionID     `cbor:"3,keyasint,omitempty"`
}

// PartitionID is meta.PartitionID.
type PartitionID struct {
	Topic     kafka.TopicID `cbor:"1,keyasint"`
	Partition int32         `cbor:"2,keyasint"`
}

// AlterReassignments moves partitions, each by itself.
type AlterReassignments struct {
	Changes []Reassignment `cbor:"1,keyasint"`
}

// Reassignment is meta.Reassignment.
type Reassignment struct {
	Topic      kafka.TopicID    `cbor:"1,keyasint"`
	Partition  int32            `cbor:"2,keyasint"`
	Replicas   []kafka.BrokerID `cbor:"3,keyasint"`
	KeepFactor bool             `cbor:"4,keyasint,omitempty"`
}

// UnregisterBroker forgets a broker.
type UnregisterBroker struct {
	ID kafka.BrokerID `cbor:"1,keyasint"`
}

// drafted runs a decision about brokers and partitions.
func (m *machine) drafted(decide func(*meta.Draft)) {
	d := m.old.Draft()
	if decide(d); d.Changed() {
		d.Put(m.edit())
	}
}

func (m *machine) alterISR(c *AlterISR) (results []meta.ISRResult, err *kafka.Error) {
	changes := mapped(c.Changes, func(c ISRChange) meta.ISRChange {
		return meta.ISRChange{PartitionID: meta.PartitionID{Topic: c.Topic, Partition: c.Partition},
			LeaderEpoch: c.LeaderEpoch, PartitionEpoch: c.PartitionEpoch,
			ISR:       mapped(c.ISR, func(r ISRReplica) meta.ISRReplica { return meta.ISRReplica{ID: r.ID, Epoch: r.Epoch} }),
			Recovered: c.Recovered, Failed: c.Failed, Full: c.Full}
	})
	m.drafted(func(d *meta.Draft) { results, err = d.AlterISR(c.From, c.Epoch, changes) })
	return results, err
}

func (m *machine) electLeaders(c *ElectLeaders) (errs []*kafka.Error) {
	var partitions []meta.PartitionID // nil: all
	if !c.All {
		partitions = make([]meta.PartitionID, len(c.Partitions))
		for n, p := range c.Partitions {
			partitions[n] = meta.PartitionID(p)
		}
	}
	m.drafted(func(d *meta.Draft) { errs = d.ElectLeaders(c.Kind, partitions) })
	return errs
}

func (m *machine) alterReassignments(c *AlterReassignments) (errs []*kafka.Error) {
	changes := mapped(c.Changes, func(r Reassignment) meta.Reassignment {
		return meta.Reassignment{PartitionID: meta.PartitionID{Topic: r.Topic, Partition: r.Partition},
			Replicas: r.Replicas, KeepFactor: r.KeepFactor}
	})
	m.drafted(func(d *meta.Draft) { errs = d.Reassign(changes) })
	return errs
}
