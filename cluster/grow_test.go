package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// A node that ran alone grows to three with its data where they are, and back: what
// moved away comes back, and alone it starts as fast as ever.
func TestLoneNodeGrowsAndShrinks(t *testing.T) {
	t.Parallel() // it mostly waits
	c := nodetest.StartMany(t, 1, nodetest.Options{})
	client := c.Client(kgo.DefaultProduceTopic("t"), kgo.MetadataMinAge(50*time.Millisecond))
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	sent := 0
	produce := func() {
		t.Helper()
		for range 20 {
			if err := client.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(sent))).FirstErr(); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	move := func(to ...int32) {
		t.Helper()
		var q kadm.AlterPartitionAssignmentsReq
		q.Assign("t", 0, to)
		insist(t, func() error {
			r, err := admin.AlterPartitionAssignments(t.Context(), q)
			return errors.Join(err, r.Error())
		})
		c.Await(func(i *meta.Image) error {
			topic, ok := i.Topic("t")
			if !ok || len(topic.Partitions[0].ISR) != len(to) || len(topic.Partitions[0].Removing) > 0 {
				return fmt.Errorf("the topic is %+v", topic)
			}
			return nil
		})
	}
	produce()
	c.Add(nodetest.Options{})
	c.Add(nodetest.Options{})
	produce()
	move(2, 3, 1)
	produce()
	var stays *nodetest.Node
	insist(t, func() error {
		leader := c.Nodes[0].Control().Quorum().Leader
		if leader == kafka.NoBroker {
			return kafka.ErrNotController.Err("an election is under way")
		}
		stays = c.Nodes[leader-1]
		return nil
	})
	move(int32(stays.ID()))
	produce()
	for _, n := range c.Nodes {
		if n == stays {
			continue
		}
		n.Stop()
		insist(t, func() error {
			err := stays.Control().UnregisterBroker(t.Context(), n.ID())
			if _, known := stays.Control().Image().Broker(n.ID()); err != nil && !known {
				return nil // an attempt before it, of which nobody knew what became
			}
			return err
		})
		aloneVotes(t, stays) // before the next one goes: two are no majority of three
	}
	begin := time.Now()
	stays.Restart()
	t.Logf("alone again after %v", time.Since(begin))
	produce()
	reader := stays.Client(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, stop := context.WithTimeout(t.Context(), nodetest.Patience)
	defer stop()
	for next := 0; next < sent; {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records", next, sent)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != fmt.Sprint(next) {
				t.Errorf("record %d is %s", next, r.Value)
			}
			next++
		})
	}
}

// insist asks again, as clients do, while the control plane answers that it decided
// nothing, or does not know: on a busy machine a leader may lose a term.
func insist(t *testing.T, ask func() error) {
	t.Helper()
	timeout := time.After(nodetest.Patience)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		var told *kerr.Error
		again := errors.Is(err, kafka.ErrNotController.Err("")) || errors.Is(err, kafka.ErrRequestTimedOut.Err("")) ||
			errors.As(err, &told) && told.Retriable
		if !again {
			t.Fatal(err)
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("after %v: %v", nodetest.Patience, err)
		}
	}
}

// aloneVotes waits until a node votes alone: the controller takes the votes of nodes
// that are gone for good one by one.
func aloneVotes(t *testing.T, n *nodetest.Node) {
	t.Helper()
	timeout := time.After(nodetest.Patience)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		q := n.Control().Quorum()
		if len(q.Voters) == 1 && q.Voters[0].ID == n.ID() && q.Leader != kafka.NoBroker {
			return
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("voters %+v after %v", q.Voters, nodetest.Patience)
		}
	}
}
