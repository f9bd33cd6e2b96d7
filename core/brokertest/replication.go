package brokertest

import (
	"context"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// draft runs one decision about brokers and partitions.
func (c *Control) draft(decide func(*meta.Draft)) {
	c.decide(false, func(now *meta.Image, e *meta.Edit) {
		d := now.Draft()
		decide(d)
		d.Put(e)
	})
}

// AlterISR implements meta.Control.
func (c *Control) AlterISR(_ context.Context, from kafka.BrokerID, epoch kafka.BrokerEpoch, changes []meta.ISRChange) (results []meta.ISRResult, err error) {
	c.draft(func(d *meta.Draft) {
		var refused *kafka.Error
		if results, refused = d.AlterISR(from, epoch, changes); refused != nil {
			err = refused
		}
	})
	return results, err
}

// ElectLeaders implements meta.Control.
func (c *Control) ElectLeaders(_ context.Context, kind meta.ElectionKind, partitions []meta.PartitionID) (errs []*kafka.Error, err error) {
	c.draft(func(d *meta.Draft) { errs = d.ElectLeaders(kind, partitions) })
	return errs, nil
}

// AlterReassignments implements meta.Control.
func (c *Control) AlterReassignments(_ context.Context, changes []meta.Reassignment) (errs []*kafka.Error, err error) {
	c.draft(func(d *meta.Draft) { errs = d.Reassign(changes) })
	return errs, nil
}

// UnregisterBroker implements meta.Control.
func (c *Control) UnregisterBroker(_ context.Context, id kafka.BrokerID) error {
	return c.live(func(d *meta.Draft) *kafka.Error { return d.Unregister(id) })
}

// FenceBroker does what a controller does when a broker is not heard of any more.
func (c *Control) FenceBroker(id kafka.BrokerID, epoch kafka.BrokerEpoch) error {
	return c.live(func(d *meta.Draft) *kafka.Error { return d.Fence(id, epoch) })
}

// UnfenceBroker does what a controller does when a broker is heard of again.
func (c *Control) UnfenceBroker(id kafka.BrokerID, epoch kafka.BrokerEpoch) error {
	return c.live(func(d *meta.Draft) *kafka.Error { return d.Unfence(id, epoch) })
}

// BeginShutdown does what a controller does when a broker wants to stop.
func (c *Control) BeginShutdown(id kafka.BrokerID, epoch kafka.BrokerEpoch) error {
	return c.live(func(d *meta.Draft) *kafka.Error { return d.BeginShutdown(id, epoch) })
}

// live runs a decision about the life of a broker.
func (c *Control) live(decide func(*meta.Draft) *kafka.Error) error {
	var refused *kafka.Error
	c.draft(func(d *meta.Draft) { refused = decide(d) })
	if refused != nil {
		return refused
	}
	return nil
}

// AddVoter implements meta.Control: there is one voter, and no other.
func (c *Control) AddVoter(context.Context, kafka.BrokerID) error { return errOneVoter() }

// RemoveVoter implements meta.Control.
func (c *Control) RemoveVoter(context.Context, kafka.BrokerID) error { return errOneVoter() }

// errOneVoter says that the voters of a test don't change.
func errOneVoter() error {
	return kafka.ErrUnsupportedVersion.Err("The voters of this cluster do not change.")
}
