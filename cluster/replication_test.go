package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cluster/nodetest"
)

// Records that were acknowledged by all replicas survive the loss of any node, also of
// the one that leads everything.
func TestRecordsSurviveEachNode(t *testing.T) {
	t.Parallel() // it mostly waits
	c := nodetest.StartMany(t, 3, nodetest.Options{})
	client := c.Client(kgo.DefaultProduceTopic("t"), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(nodetest.Patience), kgo.MetadataMinAge(50*time.Millisecond))
	minISR := "2"
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 3, 3, map[string]*string{"min.insync.replicas": &minISR}, "t"); err != nil {
		t.Fatal(err)
	}
	sent := 0
	produce := func() {
		t.Helper()
		var records []*kgo.Record
		for range 30 {
			records = append(records, kgo.StringRecord(fmt.Sprint(sent)))
			sent++
		}
		begin := time.Now()
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		t.Logf("30 records in %v", time.Since(begin))
	}
	produce()
	for _, n := range c.Nodes {
		n.Stop()
		produce()
		n.Restart()
		produce()
	}
	seen := map[string]bool{}
	reader := c.Client(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, stop := context.WithTimeout(t.Context(), nodetest.Patience)
	defer stop()
	for len(seen) < sent {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records: %v", len(seen), sent, fetches.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if seen[string(r.Value)] {
				t.Errorf("record %s twice", r.Value)
			}
			seen[string(r.Value)] = true
		})
	}
}
