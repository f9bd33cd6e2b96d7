package kgopartitioner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/partitioner/kgopartitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// errOdd is what the plugin says of keys of an odd length.
var errOdd = errors.New("keys of an odd length are not known here")

// byLength puts a key where its length says.
type byLength struct{}

func (byLength) Assign(_ context.Context, r *partitioner.Request, out []int32) error {
	for i, key := range r.Keys {
		out[i] = int32(len(key)) / 2 % r.Partitions
		switch {
		case key == nil:
			out[i] = partitioner.Any
		case len(key)%2 == 1:
			return errOdd
		}
	}
	return nil
}

// overGRPC is byLength as a plugin that is reached over gRPC.
func overGRPC(t *testing.T) partitioner.Partitioner {
	t.Helper()
	target, err := host.InProcess(partitioner.Plugin(plugin.Plugin{
		Name: "by-length", Version: "1.0.0", Features: []string{partitioner.FeatureDeterministic},
	}, func(context.Context, plugin.Config) (partitioner.Partitioner, error) { return byLength{}, nil }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	instance, err := target.Configure(t.Context(), plugin.Partitioner, "by-length", plugin.Config{JSON: []byte(`{}`), BrokerID: -1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := instance.Partitioner()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProduce: a broker has each record where the plugin said, compiled in and over
// gRPC, and none of those that the plugin refused.
func TestProduce(t *testing.T) {
	for name, p := range map[string]partitioner.Partitioner{"compiled in": byLength{}, "over gRPC": overGRPC(t)} {
		t.Run(name, func(t *testing.T) {
			b := brokertest.Start(t, brokertest.Options{})
			b.CreateTopic("t", 5, nil)
			// A question may take longer than 50 ms on a busy machine.
			client := b.Client(kgo.RecordPartitioner(kgopartitioner.New(p, kgopartitioner.Options{Deterministic: true, Timeout: 10 * time.Second})),
				kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			produced := produce(t, client)
			for produced > 0 {
				fetches := client.PollFetches(t.Context())
				if err := fetches.Err(); err != nil {
					t.Fatal(err)
				}
				produced -= fetches.NumRecords()
				fetches.EachRecord(func(r *kgo.Record) { checkPlace(t, r) })
			}
			if produced < 0 {
				t.Errorf("%d records more than were produced", -produced)
			}
		})
	}
}

// checkPlace says whether a record is where byLength puts it.
func checkPlace(t *testing.T, r *kgo.Record) {
	t.Helper()
	if want := int32(len(r.Key)) / 2 % 5; r.Key != nil && r.Partition != want || len(r.Key)%2 == 1 {
		t.Errorf("key %q is in partition %d, want %d", r.Key, r.Partition, want)
	}
}

// produce sends records and returns how many were taken.
func produce(t *testing.T, client *kgo.Client) (taken int) {
	t.Helper()
	for i := range 100 {
		r := &kgo.Record{Topic: "t", Key: make([]byte, i%20), Value: fmt.Append(nil, i)}
		if i%10 == 0 {
			r.Key = nil
		}
		err := client.ProduceSync(t.Context(), r).FirstErr()
		reason := kgopartitioner.Err(r)
		if refused := len(r.Key)%2 == 1; refused != (err != nil) || refused != (reason != nil) {
			t.Fatalf("key of %d bytes: %v, reason %v", len(r.Key), err, reason)
		}
		if err == nil {
			taken++
		}
	}
	return taken
}
