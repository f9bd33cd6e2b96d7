package cluster_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/meta"
)

// options are those of a node on a free port.
func options(dir string) cluster.Options {
	return cluster.Options{DataDir: dir, Broker: broker.Options{NodeID: 1,
		Listeners: []broker.Listener{{Name: "PLAINTEXT", Address: "127.0.0.1:0"}}}}
}

func TestStartToFirstProduce(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"empty directory", "existing data"} {
		begin := time.Now()
		n := nodetest.Start(t, nodetest.Options{DataDir: dir})
		served := time.Since(begin)
		c := n.Client(kgo.DefaultProduceTopic("first"), kgo.AllowAutoTopicCreation())
		if name == "empty directory" {
			if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 1, 1, nil, "first"); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.ProduceSync(t.Context(), kgo.StringRecord("hello")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: serving after %v, first record after %v", name, served, time.Since(begin))
		n.Stop()
	}
}

func TestKilledNodeKeepsTopicsAndRecords(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	c := n.Client(kgo.DefaultProduceTopic("a"))
	if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := c.ProduceSync(t.Context(), kgo.StringRecord(strconv.Itoa(i))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	n.Kill()
	reader := n.Client(kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, stop := context.WithTimeout(t.Context(), nodetest.Patience)
	defer stop()
	for next := 0; next < 100; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of 100 records: %v", next, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != strconv.Itoa(next) {
				t.Errorf("record %d is %q", next, r.Value)
			}
			next++
		})
	}
}

func TestManyPartitions(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	admin := kadm.NewClient(n.Client())
	begin := time.Now()
	if _, err := admin.CreateTopic(t.Context(), 1000, 1, nil, "wide"); err != nil {
		t.Fatal(err)
	}
	t.Logf("1,000 partitions in %v", time.Since(begin))
	var topics []meta.NewTopic
	for i := range 100 {
		topics = append(topics, meta.NewTopic{Name: fmt.Sprintf("t%d", i), PartitionCount: 10, ReplicationFactor: 1})
	}
	begin = time.Now()
	if _, err := n.Control().CreateTopics(t.Context(), topics, false); err != nil {
		t.Fatal(err)
	}
	t.Logf("100 topics of 10 partitions decided in %v", time.Since(begin))
	begin = time.Now()
	n.Restart()
	t.Logf("restart with 2,000 partitions in %v", time.Since(begin))
	if got := n.Control().Image().PartitionCount(); got != 2000 {
		t.Errorf("%d partitions after the restart, want 2000", got)
	}
}

func TestSecondNodeOnADirectoryNamesTheFirst(t *testing.T) {
	dir := t.TempDir()
	nodetest.Start(t, nodetest.Options{DataDir: dir})
	n, err := cluster.Start(t.Context(), options(dir))
	if err == nil {
		n.Close(t.Context())
		t.Fatal("two nodes run on one data directory")
	}
	if pid := strconv.Itoa(os.Getpid()); !strings.Contains(err.Error(), "process "+pid) {
		t.Errorf("error %q does not name the process %s", err, pid)
	}
}
