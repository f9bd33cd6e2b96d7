package meta

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Active says whether the broker may be elected and be in an ISR: it is not fenced
// and not in controlled shutdown.
func (b *Broker) Active() bool { return !b.Fenced && !b.ShuttingDown }

// Fence takes a broker that is not heard of any more out of every ISR, and gives what
// it led to others. One that is fenced stays so.
func (d *Draft) Fence(id kafka.BrokerID, epoch kafka.BrokerEpoch) *kafka.Error {
	if err := d.checkEpoch(id, epoch); err != nil {
		return err
	}
	if b, _ := d.broker(id); !b.Fenced {
		d.setState(id, true, b.ShuttingDown)
		d.leaveISRs(id)
	}
	return nil
}

// Unfence takes a broker that is heard of again back into service, also from a
// controlled shutdown that it gave up; it leads what nobody leads and it can.
func (d *Draft) Unfence(id kafka.BrokerID, epoch kafka.BrokerEpoch) *kafka.Error {
	if err := d.checkEpoch(id, epoch); err != nil {
		return err
	}
	if b, _ := d.broker(id); !b.Active() {
		d.setState(id, false, false)
		d.electLeaderless(id)
	}
	return nil
}

// EndShutdown takes back that a broker wants to stop, and nothing else: one that is
// fenced stays so until it is heard of.
func (d *Draft) EndShutdown(id kafka.BrokerID, epoch kafka.BrokerEpoch) *kafka.Error {
	if err := d.checkEpoch(id, epoch); err != nil {
		return err
	}
	b, _ := d.broker(id)
	switch {
	case !b.ShuttingDown:
		return nil
	case b.Fenced:
		d.setState(id, true, false)
		return nil
	}
	return d.Unfence(id, epoch)
}

// BeginShutdown takes a broker that wants to stop out of the ISRs and gives what it
// leads to others. What nobody else can lead it keeps until it is fenced. Asked again
// it does the same, for partitions that found other replicas meanwhile.
func (d *Draft) BeginShutdown(id kafka.BrokerID, epoch kafka.BrokerEpoch) *kafka.Error {
	if err := d.checkEpoch(id, epoch); err != nil {
		return err
	}
	b, _ := d.broker(id)
	if b.Fenced {
		return nil // it is in no ISR and leads nothing
	}
	if !b.ShuttingDown {
		d.setState(id, false, true)
	}
	for at := range d.old.PartitionsOn(id) {
		t, p := d.partition(at)
		if p == nil || !slices.Contains(p.ISR, id) {
			continue
		}
		c := d.change(t)
		c.ISR = without(p.ISR, id)
		c.Election = ElectOnline // nobody loses records for a shutdown
		if next, changed := p.Next(&c); changed && next.Leader != kafka.NoBroker {
			d.own(t).Partitions[at.Partition] = next
		}
	}
	return nil
}

// Unregister forgets a broker, and with it what its replicas had. It stays in replica
// lists, where it counts as one that is down.
func (d *Draft) Unregister(id kafka.BrokerID) *kafka.Error {
	if _, known := d.broker(id); !known {
		return kafka.ErrBrokerIDNotRegistered.Err(fmt.Sprintf("Broker ID %d is not currently registered", id))
	}
	d.brokers[id] = nil
	d.forget(id, func(*Partition) bool { return true })
	return nil
}

// SetFull notes that a broker has no room, or has room again, in its log directories.
// Nobody leads anything else by this alone: with several directories only the broker knows
// what it can't append (ISRChange.Full).
func (d *Draft) SetFull(id kafka.BrokerID, epoch kafka.BrokerEpoch, full bool) *kafka.Error {
	if err := d.checkEpoch(id, epoch); err != nil {
		return err
	}
	if old, _ := d.broker(id); old.Full != full {
		b := *old
		b.Full = full
		d.brokers[id] = &b
	}
	return nil
}

// setState changes what is known of a broker's life.
func (d *Draft) setState(id kafka.BrokerID, fenced, shuttingDown bool) {
	old, _ := d.broker(id)
	b := *old
	b.Fenced, b.ShuttingDown = fenced, shuttingDown
	d.brokers[id] = &b
}

// leaveISRs takes a broker that is not alive out of every ISR.
func (d *Draft) leaveISRs(id kafka.BrokerID) {
	d.update(id, func(p *Partition) bool { return slices.Contains(p.ISR, id) },
		func(p *Partition, c *PartitionChange) { c.ISR = without(p.ISR, id) })
}

// forget takes a broker that may have lost records, and is not alive, out of the ISR
// and ELR of the partitions that where chooses.
func (d *Draft) forget(id kafka.BrokerID, where func(*Partition) bool) {
	lost := []kafka.BrokerID{id}
	d.update(id, func(p *Partition) bool {
		return (slices.Contains(p.ISR, id) || slices.Contains(p.ELR, id)) && where(p)
	},
		func(p *Partition, c *PartitionChange) { c.ISR, c.Lost = without(p.ISR, id), lost })
}

// electLeaderless finds leaders for partitions that have none and a replica on the
// broker.
func (d *Draft) electLeaderless(id kafka.BrokerID) {
	if d.old.Leaderless() == 0 && len(d.topics) == 0 {
		return
	}
	d.update(id, func(p *Partition) bool { return p.Leader == kafka.NoBroker && slices.Contains(p.Replicas, id) }, asRuled)
}
