package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
)

// produce writes records with keys from…to-1 and waits for their answers.
func produce(t *testing.T, c *kgo.Client, topic string, from, to int) {
	t.Helper()
	var records []*kgo.Record
	for n := from; n < to; n++ {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(n % 3),
			Key: fmt.Append(nil, n), Value: fmt.Appendf(nil, "value of %d", n)})
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// consume reads the topic from the start until it has n records, and checks that
// each key from 0 to n-1 is there once with its value.
func consume(t *testing.T, b *brokertest.Broker, topic string, n int) {
	t.Helper()
	c := b.Client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	seen := map[string]string{}
	for len(seen) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(seen), n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if _, twice := seen[string(r.Key)]; twice {
				t.Errorf("record %s came twice", r.Key)
			}
			seen[string(r.Key)] = string(r.Value)
		})
	}
	for k := range n {
		if got, want := seen[fmt.Sprint(k)], fmt.Sprintf("value of %d", k); got != want {
			t.Errorf("record %d is %q, want %q", k, got, want)
		}
	}
}

func TestWhatIsProducedIsConsumed(t *testing.T) {
	for _, loopback := range []bool{false, true} {
		t.Run(fmt.Sprintf("loopback=%v", loopback), func(t *testing.T) {
			b := brokertest.Start(t, brokertest.Options{Loopback: loopback})
			b.CreateTopic("a", 3, nil)
			produce(t, b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner())), "a", 0, 1000)
			consume(t, b, "a", 1000)
		})
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{})
	b.CreateTopic("a", 3, nil)
	produce(t, b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner())), "a", 0, 500)
	b.Restart()
	produce(t, b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner())), "a", 500, 1000)
	consume(t, b, "a", 1000)
	if topic, _ := b.Control.Image().Topic("a"); topic.Partitions[0].LeaderEpoch != 0 {
		t.Errorf("leader epoch %d after an orderly restart, want 0", topic.Partitions[0].LeaderEpoch)
	}
}

// With fsync nothing that was acknowledged may be missing after the power was
// gone, whatever the disk kept of the rest.
func TestPowerCutLosesNothingSynced(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Static: config.Static{"mortise.durability": "fsync"}})
	b.CreateTopic("a", 3, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 5 {
		produce(t, b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner())), "a", round*50, round*50+50)
		b.Crash(random)
	}
	consume(t, b, "a", 250)
	if topic, _ := b.Control.Image().Topic("a"); topic.Partitions[0].LeaderEpoch != 5 {
		t.Errorf("leader epoch %d after five crashes, want 5", topic.Partitions[0].LeaderEpoch)
	}
}

func TestAdminTellsWhenReady(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Admin: true, Loopback: true})
	b.CreateTopic("a", 3, nil)
	b.Restart()
	r, err := b.HTTP().Get("http://" + b.AdminAddr() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		State    string
		Recovery struct {
			LogsTotal int64 `json:"logs_total"`
			LogsDone  int64 `json:"logs_done"`
		}
	}
	if err := json.Unmarshal(body, &ready); err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK || ready.State != "running" || ready.Recovery.LogsDone != 3 || ready.Recovery.LogsTotal != 3 {
		t.Errorf("%d %s, want 200, running and 3 of 3 logs", r.StatusCode, body)
	}
}

// create makes a topic through the protocol.
func create(t *testing.T, c *kgo.Client, name string) {
	t.Helper()
	if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 1, 1, nil, name); err != nil {
		t.Fatal(err)
	}
}
