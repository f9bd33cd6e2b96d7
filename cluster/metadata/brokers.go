package metadata

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// registerBroker replaces what is known of a broker. Its epoch is the command's
// index, as Kafka takes the offset of the registration record.
func (m *machine) registerBroker(c *RegisterBroker) kafka.BrokerEpoch {
	r := &meta.Registration{ID: c.ID, Rack: c.Rack, Endpoints: mapped(c.Endpoints, toEndpoint), LogDirs: c.LogDirs,
		CleanShutdown: c.CleanShutdown, ProducerIDs: c.ProducerIDs, Peer: c.Peer, PreviousEpoch: c.PreviousEpoch,
		MinISR: c.MinISR, Unclean: c.Unclean, Attempt: c.Attempt}
	r.Missing = mapped(c.Missing, func(p PartitionID) meta.PartitionID { return meta.PartitionID(p) })
	r.LaterEpochs = mapped(c.LaterEpochs, func(l LogEpoch) meta.LogEpoch { return meta.LogEpoch(l) })
	epoch := kafka.BrokerEpoch(m.index)
	m.old.Register(m.edit(), r, epoch)
	return epoch
}

func (m *machine) fenceBroker(c *FenceBroker) (err *kafka.Error) {
	m.drafted(func(d *meta.Draft) { err = d.Fence(c.ID, c.Epoch) })
	return err
}

func (m *machine) unfenceBroker(c *UnfenceBroker) (err *kafka.Error) {
	m.drafted(func(d *meta.Draft) {
		if c.Drained {
			err = d.EndShutdown(c.ID, c.Epoch)
		} else {
			err = d.Unfence(c.ID, c.Epoch)
		}
	})
	return err
}

func (m *machine) beginShutdown(c *BeginShutdown) (err *kafka.Error) {
	m.drafted(func(d *meta.Draft) { err = d.BeginShutdown(c.ID, c.Epoch) })
	return err
}

func (m *machine) setFull(c *SetFull) (err *kafka.Error) {
	m.drafted(func(d *meta.Draft) { err = d.SetFull(c.ID, c.Epoch, c.Full) })
	return err
}

func (m *machine) unregisterBroker(c *UnregisterBroker) (err *kafka.Error) {
	m.drafted(func(d *meta.Draft) { err = d.Unregister(c.ID) })
	return err
}
