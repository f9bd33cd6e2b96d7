package broker

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/fetcher"
	"github.com/mortisemq/mortise/core/internal/throttle"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Replication is how this broker follows leaders.
type Replication struct {
	// Listener is the client listener of the leaders that it fetches by; empty: its own
	// first one without a login, else its first one.
	Listener string
	// User and Password are the login there, if that listener wants one.
	User, Password string
}

// replicationListener is the name of the listener that followers fetch by.
func (o *Options) replicationListener() string {
	if o.Replication.Listener != "" {
		return o.Replication.Listener
	}
	for _, l := range o.Listeners {
		if l.SASL == nil {
			return l.Name
		}
	}
	return o.Listeners[0].Name
}

// check returns what is wrong with the replication.
func (o *Options) checkReplication() error {
	if o.Replication.Listener == "" {
		return nil
	}
	for _, l := range o.Listeners {
		if l.Name == o.Replication.Listener {
			return nil
		}
	}
	return fmt.Errorf("the replication listener %q is none of the listeners", o.Replication.Listener)
}

// followers makes what fetches from leaders. It begins when the broker is registered.
func (b *Broker) newFollowers() *fetcher.Manager {
	o := &b.options
	listener := o.replicationListener()
	b.followerThrottle, b.leaderThrottle = throttle.New(o.Clock), throttle.New(o.Clock)
	return fetcher.NewManager(fetcher.ManagerOptions{
		Self: o.NodeID, Net: o.Net,
		Address:         func(leader kafka.BrokerID) (string, bool) { return addressOf(b.image(), leader, listener) },
		Credential:      func() (string, string) { return o.Replication.User, o.Replication.Password },
		Config:          func() config.Replication { return b.config().Replication },
		RequestMaxBytes: func() int { return int(min(b.config().SocketRequestMaxBytes, math.MaxInt32)) },
		Quota:           followerQuota{b},
		Clock:           o.Clock, Log: b.log("fetcher"), Metrics: o.Metrics,
	})
}

// addressOf is where a broker takes connections of a listener.
func addressOf(img *meta.Image, id kafka.BrokerID, listener string) (string, bool) {
	broker, ok := img.Broker(id)
	if !ok {
		return "", false
	}
	e, ok := broker.Endpoint(listener)
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), ok
}

// setThrottles bounds throttled replicas by the config of this moment.
func (b *Broker) setThrottles() {
	c := b.config().Replication
	b.leaderThrottle.Set(bytesPerSecond(c.LeaderBytesPerSecond))
	b.followerThrottle.Set(bytesPerSecond(c.FollowerBytesPerSecond))
}

// bytesPerSecond is a configured rate, of which the largest is none.
func bytesPerSecond(n int64) float64 {
	if n == math.MaxInt64 {
		return math.Inf(1)
	}
	return float64(n)
}

// followerQuota holds back the replicas that follower.replication.throttled.replicas
// names.
type followerQuota struct{ b *Broker }

// throttledMax is the longest that a throttled replica is not looked at: the rate may
// change meanwhile.
const throttledMax = time.Second

// Held implements fetcher.Quota.
func (q followerQuota) Held(tp kafka.TopicPartition) time.Duration {
	if !q.throttled(tp) {
		return 0
	}
	return min(q.b.followerThrottle.Owed(), throttledMax)
}

// Took implements fetcher.Quota.
func (q followerQuota) Took(tp kafka.TopicPartition, bytes int) {
	if q.throttled(tp) {
		q.b.followerThrottle.Spend(bytes)
	}
}

// throttled reports whether a partition's topic says so.
func (q followerQuota) throttled(tp kafka.TopicPartition) bool {
	p, _ := q.b.roles.ByName(tp.Topic, tp.Partition)
	if p == nil {
		return false
	}
	list := &p.Config().Topic.FollowerThrottled
	return !list.None() && list.Has(tp.Partition, q.b.options.NodeID)
}

var _ fetcher.Quota = followerQuota{}
