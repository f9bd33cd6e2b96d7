package broker

import (
	"context"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
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
	r := meta.Registration{ID: b.options.NodeID, Rack: b.options.Rack, Endpoints: endpoints, Peer: b.options.Peer}
	// What topics go by about which the image says nothing, an empty one too.
	file := b.resolver.Topic(meta.Empty(""), "")
	r.MinISR, r.Unclean = file.MinInsyncReplicas, file.UncleanLeaderElection
	for _, d := range b.dirs.Dirs() {
		r.LogDirs = append(r.LogDirs, d.ID)
	}
	r.CleanShutdown, r.PreviousEpoch = lastShutdown(b.dirs.Dirs())
	b.inspectLogs(&r)
	epoch, err := b.options.Registrar.RegisterBroker(ctx, r)
	if err != nil {
		return fmt.Errorf("register broker %d: %w", b.options.NodeID, err)
	}
	b.Registered(epoch)
	if err := b.roles.WaitApplied(ctx, b.image().Index); err != nil {
		return fmt.Errorf("roles after registration: %w", err)
	}
	return nil
}

// Registered says by which registration the cluster knows the broker from now on:
// whoever registers it again while it runs tells it so. Nothing of an earlier one is
// listened to.
func (b *Broker) Registered(epoch kafka.BrokerEpoch) {
	b.epoch.Store(int64(epoch))
	b.followers.SetEpoch(epoch)
}

// registration is the epoch of the registration that counts.
func (b *Broker) registration() kafka.BrokerEpoch { return kafka.BrokerEpoch(b.epoch.Load()) }

// lastShutdown says whether every directory was closed in order, and by which
// registration. Directories of different registrations are not clean: one of them is
// a copy, or was away when the broker ran last.
func lastShutdown(dirs []*logdir.Dir) (clean bool, epoch kafka.BrokerEpoch) {
	for n, d := range dirs {
		if !d.Clean || n > 0 && d.CleanEpoch != epoch {
			return false, 0
		}
		epoch = d.CleanEpoch
	}
	return true, max(epoch, 0)
}

// missLogs finds what the broker should have and does not. On the disks that it had before,
// a crash may have taken logs that were new, or somebody removed them: that is as with
// any records that a stop without order took. Of what was on a disk that is gone, or was
// changed for another one, it has nothing at all. The logs are made anew then, by this start
// or by one before it that failed before the cluster knew of its disks, on any disk: those
// are empty, on disks that were not stopped in order since.
func (b *Broker) missLogs(r *meta.Registration, i *meta.Image) {
	changed := disksChanged(r, i)
	made := map[meta.PartitionID]bool{}
	for _, id := range b.roles.Made() {
		made[id] = true
	}
	for p := range b.roles.All {
		id := meta.PartitionID{Topic: p.TopicID(), Partition: p.TopicPartition().Partition}
		log, dir := p.Home()
		isEmpty := made[id] || changed && log != nil && log.EndOffset() == 0 && !dir.Clean
		if !isEmpty || !i.Expects(r.ID, id) {
			continue
		}
		r.CleanShutdown = false
		if changed {
			r.Missing = append(r.Missing, id)
		}
	}
	if len(r.Missing) > 0 {
		b.options.Log.Warn("this broker has other disks than before: it leads nothing of what was on the old ones before it has copied it from others", "partitions", len(r.Missing))
	}
}

// disksChanged says whether a disk with which the cluster knows a broker is gone, or may be:
// one that can't be read may be any, a new one may be in its place, and which ones a broker
// had before it was unregistered nobody knows. One more takes nothing away.
func disksChanged(r *meta.Registration, i *meta.Image) bool {
	last, known := i.Broker(r.ID)
	if !known {
		return true
	}
	gone, unread, isNew := 0, 0, false
	for _, dir := range r.LogDirs {
		if dir == kafka.NoTopicID {
			unread++
		} else if !slices.Contains(last.LogDirs, dir) {
			isNew = true
		}
	}
	for _, dir := range last.LogDirs {
		if dir == kafka.NoTopicID || !slices.Contains(r.LogDirs, dir) {
			gone++
		}
	}
	return gone > unread || gone > 0 && isNew
}

// inspectLogs finds what the cluster must know of files that came from elsewhere: a
// moved partition, or logs that are newer than a restored control log.
//
// And what it must know of logs that are not there: then this broker stopped with more
// than it has now.
//
// Cost: a look at every producer that is remembered, which are bounded.
func (b *Broker) inspectLogs(r *meta.Registration) {
	b.missLogs(r, b.image())
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
