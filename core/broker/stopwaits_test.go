package broker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
)

// TestStopDoesNotWaitForReplicas: an append that waits for them is told to look for
// another leader soon, not after its timeout; all brokers may stop at the same time.
func TestStopDoesNotWaitForReplicas(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(map[string]string{"min.insync.replicas": "2"}, on(1, 2, 3))
		c := s.producer(0, kgo.ProduceRequestTimeout(time.Minute))
		s.write(c, 0, 1)
		for _, other := range []string{"broker2", "broker3"} {
			s.net.Cut("broker1", other)
			s.net.Reset("broker1", other)
		}
		ctx, stop := context.WithCancel(s.Context())
		defer stop()
		answered := make(chan error, 1)
		go func() { answered <- c.ProduceSync(ctx, &kgo.Record{Value: []byte("waits")}).FirstErr() }()
		synctest.Wait()
		begin := time.Now()
		s.brokers[0].Stop()
		if took := time.Since(begin); took > 3*time.Second {
			s.Errorf("it took %v to stop", took)
		}
		stop() // nobody leads
		<-answered
	})
}
