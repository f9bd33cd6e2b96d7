package broker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vfs"
)

// configure sets a dynamic config of all brokers.
func (s *trio) configure(key, value string) {
	s.Helper()
	all := meta.Resource{Type: meta.ResourceBroker}
	control := s.brokers[0].Control
	errs, err := control.AlterConfigs(s.Context(), []meta.ConfigChange{{Resource: all, Previous: control.Image().Config(all), Values: map[string]string{key: value}}}, false)
	if err != nil || errs[0] != nil {
		s.Fatal(err, errs)
	}
	synctest.Wait() // until it counts
}

// TestKIP73ThrottledReplicaFillsSlowly, by its leader's rate and by its own; without a
// rate, or when its topic does not name it, it does so at once.
func TestKIP73ThrottledReplicaFillsSlowly(t *testing.T) {
	for _, c := range []struct {
		name, list, replicas, rate string
		slow                       bool
	}{
		{"by the leader", "leader.replication.throttled.replicas", "0:3", "leader.replication.throttled.rate", true},
		{"by the follower", "follower.replication.throttled.replicas", "*", "follower.replication.throttled.rate", true},
		{"another replica", "leader.replication.throttled.replicas", "0:2", "leader.replication.throttled.rate", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			replicate(t, brokertest.Options{Static: map[string]string{"replica.fetch.max.bytes": "1000"}}, func(s *trio) {
				s.topic(map[string]string{c.list: c.replicas}, on(1, 2, 3))
				s.configure(c.rate, "1000")
				s.write(s.producer(0), 0, 150)
				s.fence(3)
				s.brokers[2].RestartOn(vfs.NewMem())
				begin := time.Now()
				s.await(0, 3)
				took := time.Since(begin)
				if least := time.Duration(len(s.log(0, 0))-2000) * time.Millisecond; c.slow != (took > least) || took > 3*least {
					s.Errorf("%d bytes took %v, slow is %v", len(s.log(0, 0)), took, least)
				}
				s.alike(0)
			})
		})
	}
}
