package reconcile

import (
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Followers fetch from the leaders of the partitions that this broker follows. The calls
// come one at a time and must not wait. A partition refuses by itself what was fetched
// for an earlier role, so that nobody waits for fetches to end.
type Followers interface {
	// Follow has a partition fetched from its leader, from now on in this leader epoch.
	Follow(p *partition.Partition, leader kafka.BrokerID, epoch kafka.LeaderEpoch)
	// Unfollow ends that. It may come for a partition that nobody follows.
	Unfollow(p *partition.Partition)
}

// follow tells the followers what a job has made of a partition, if that is news.
func (r *Roles) follow(j *job) {
	here := j.topic.Partitions[j.number]
	is := here.Role()
	if r.o.Followers == nil || j.was != nil && j.was.Leader == is.Leader && j.was.Epoch == is.Epoch {
		return
	}
	if is.Leading || is.Leader == kafka.NoBroker || here.Offline() != nil {
		r.o.Followers.Unfollow(here)
		return
	}
	r.o.Followers.Follow(here, is.Leader, is.Epoch)
}

// unfollow ends the fetching of a partition that goes.
func (r *Roles) unfollow(p *partition.Partition) {
	if r.o.Followers != nil {
		r.o.Followers.Unfollow(p)
	}
}

// eligible says of a broker what partition.Parts wants to know: whether it could be in
// sync, by the newest image.
func eligible(c meta.Control) func(kafka.BrokerID, kafka.BrokerEpoch) bool {
	return func(id kafka.BrokerID, epoch kafka.BrokerEpoch) bool {
		b, ok := c.Image().Broker(id)
		return ok && b.Active() && b.Epoch == epoch
	}
}
