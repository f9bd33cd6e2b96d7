package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
)

// replicas of brokers.
func replicas(ids ...kafka.BrokerID) []kafka.BrokerID { return ids }

// TestAcksAllIsOneRoundTrip: what three brokers have is acknowledged at once, not with
// the followers' next poll, and everybody has it.
func TestAcksAllIsOneRoundTrip(t *testing.T) {
	brokers, _ := brokertest.StartMany(t, 3, brokertest.Options{})
	brokers[0].AssignTopic("t", map[string]string{"min.insync.replicas": "3"}, replicas(1, 2, 3), replicas(2, 3, 1), replicas(3, 1, 2))
	c := brokers[0].Client(kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	begin := time.Now()
	for i := range 60 {
		r := &kgo.Record{Partition: int32(i % 3), Value: fmt.Appendf(nil, "%d", i)}
		if err := c.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatalf("record %d after %v: %v", i, time.Since(begin), err)
		}
	}
	t.Logf("60 acks in %v", time.Since(begin))
}
