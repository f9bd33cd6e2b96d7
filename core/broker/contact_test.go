package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
)

// TestCutOffLeaderSendsProducersAway: a leader that hears neither of whoever decides nor of
// its followers does not keep those who wait for acks=all until their time is over. One
// whose followers fetch acknowledges, whoever is silent.
func TestCutOffLeaderSendsProducersAway(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(map[string]string{"min.insync.replicas": "2"}, on(1, 2, 3))
		s.brokers[0].Heard()
		c := s.producer(0, kgo.DisableIdempotentWrite(), kgo.RecordRetries(0))
		s.write(c, 0, 20)
		time.Sleep(time.Minute) // of the bubble
		s.write(c, 0, 20)
		s.brokers[0].Heard()
		for _, other := range []string{"broker2", "broker3"} {
			s.net.Cut("broker1", other)
			s.net.Reset("broker1", other)
		}
		for n, most := range []time.Duration{6 * time.Second, 100 * time.Millisecond} {
			begin := time.Now()
			err := c.ProduceSync(s.Context(), &kgo.Record{Value: fmt.Append(nil, n)}).FirstErr()
			if waited := time.Since(begin); !errors.Is(err, kerr.NotLeaderForPartition) || waited > most {
				s.Errorf("answered %v after %v, want NOT_LEADER_OR_FOLLOWER within %v", err, waited, most)
			}
		}
		for _, other := range []string{"broker2", "broker3"} {
			s.net.Heal("broker1", other)
		}
		s.brokers[0].Heard()
		time.Sleep(2 * time.Second) // of the bubble: followers dial
		s.write(c, 0, 20)
		s.alike(0)
	})
}
