package config

import (
	"math"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

func TestThrottledReplicas(t *testing.T) {
	for _, c := range []struct {
		list      string
		none      bool
		partition int32
		broker    kafka.BrokerID
		has       bool
	}{
		{"", true, 0, 1, false},
		{"*", false, 7, 9, true},
		{"0:1,2:3", false, 2, 3, true},
		{"0:1,2:3", false, 2, 1, false},
		{"99999999999:1", true, 0, 1, false},
	} {
		values := map[string]string{"leader.replication.throttled.replicas": c.list}
		e := meta.Empty("c").Edit(1)
		e.SetConfig(meta.Resource{Type: meta.ResourceTopic, Name: "t"}, values)
		topic := NewResolver(nil).Topic(e.Image(), "t")
		if got := topic.LeaderThrottled.None(); got != c.none {
			t.Errorf("%q is none: %v, want %v", c.list, got, c.none)
		}
		if got := topic.LeaderThrottled.Has(c.partition, c.broker); got != c.has {
			t.Errorf("%q has %d:%d: %v, want %v", c.list, c.partition, c.broker, got, c.has)
		}
		if !topic.FollowerThrottled.None() {
			t.Errorf("%q holds followers back too", c.list)
		}
	}
}

func TestReplicationKeys(t *testing.T) {
	img := meta.Empty("c")
	r := NewResolver(Static{"replica.selector.class": rackAwareSelector}).Broker(img, 1).Replication
	if !r.RackAware || r.LeaderBytesPerSecond != math.MaxInt64 || r.RebalanceIntervalMS != 300_000 {
		t.Errorf("got %+v", r)
	}
	r = NewResolver(Static{leaderRateKey: "10", "leader.imbalance.check.interval.seconds": "9223372036854775807"}).Broker(img, 1).Replication
	if r.RackAware || r.LeaderBytesPerSecond != 10 || r.FollowerBytesPerSecond != math.MaxInt64 || r.RebalanceIntervalMS <= 0 {
		t.Errorf("got %+v", r)
	}
}

// A file that can't work is refused with the keys that contradict each other.
func TestReplicationKeysTogether(t *testing.T) {
	for _, c := range []struct {
		values map[string]string
		want   string
	}{
		{map[string]string{"replica.fetch.wait.max.ms": "30001", "replica.lag.time.max.ms": "60000"}, "replica.socket.timeout.ms should"},
		{map[string]string{"replica.lag.time.max.ms": "499"}, "replica.fetch.wait.max.ms should"},
		{map[string]string{"broker.session.timeout.ms": "2000"}, "broker.heartbeat.interval.ms must"},
		{map[string]string{"replica.lag.time.max.ms": "500", "replica.socket.timeout.ms": "500", "broker.session.timeout.ms": "2001"}, ""},
	} {
		err := CheckBroker(c.values)
		if got := err != nil; got != (c.want != "") || got && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.values, err, c.want)
		}
	}
}
