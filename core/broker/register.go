package broker

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/core/meta"
)

// register makes the broker known with its bound ports, and waits for the roles
// of the image that has it.
func (b *Broker) register(ctx context.Context) error {
	if b.options.Registrar == nil {
		return nil
	}
	endpoints, err := b.endpoints()
	if err != nil {
		return err
	}
	r := meta.Registration{ID: b.options.NodeID, Rack: b.options.Rack, Endpoints: endpoints, CleanShutdown: true}
	for _, d := range b.dirs.Dirs() {
		r.LogDirs = append(r.LogDirs, d.ID)
		r.CleanShutdown = r.CleanShutdown && d.Clean
	}
	b.inspectLogs(&r)
	if b.epoch, err = b.options.Registrar.RegisterBroker(ctx, r); err != nil {
		return fmt.Errorf("register broker %d: %w", b.options.NodeID, err)
	}
	if err := b.roles.WaitApplied(ctx, b.image().Index); err != nil {
		return fmt.Errorf("roles after registration: %w", err)
	}
	return nil
}

// inspectLogs finds what the cluster must know of files that came from elsewhere: a
// moved partition, or logs that are newer than a restored control log.
//
// Cost: a look at every producer that is remembered, which are bounded.
func (b *Broker) inspectLogs(r *meta.Registration) {
	for p := range b.roles.All {
		if p.Log() == nil {
			continue
		}
		if latest := p.Log().LatestEpoch(); latest > p.Role().Epoch {
			r.LaterEpochs = append(r.LaterEpochs, meta.LogEpoch{TopicID: p.TopicID(), Partition: p.TopicPartition().Partition, Epoch: latest})
		}
		for _, producer := range p.Log().Producers() {
			r.ProducerIDs = max(r.ProducerIDs, producer.ProducerID+1)
		}
	}
}
