package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// oldest is a retention plugin that lets as many segments go as its config says.
func oldest(asked *atomic.Int64) plugin.Plugin {
	return storage.Plugin(plugin.Plugin{Name: "oldest", Version: "1.0.0", Features: []string{storage.FeatureCommitted}},
		func(_ context.Context, c plugin.Config) (storage.Retention, error) {
			var o struct {
				Segments int `json:"segments"`
			}
			if err := c.Decode(&o); err != nil {
				return nil, err
			}
			return decider(func(logs []storage.LogFacts) (all []storage.Verdict) {
				for _, l := range logs {
					asked.Add(1)
					all = append(all, storage.Verdict{Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch,
						DeleteOldest: min(o.Segments, len(l.Segments)-1), Reason: "the test says so"})
				}
				return all
			}), nil
		})
}

type decider func([]storage.LogFacts) []storage.Verdict

func (d decider) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	return d(logs), nil
}

// A topic names a plugin; the cluster's catalogue changes its config; the running
// broker goes by it.
func TestCatalogueOfTheClusterRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		b := brokertest.Start(t, brokertest.Options{
			Static: config.Static{"log.retention.check.interval.ms": "1000"},
			Plugins: broker.Plugins{Builtins: []plugin.Plugin{oldest(&asked)}, Catalogue: []pluginhost.Spec{
				{Name: "mine", Kind: plugin.Retention, Builtin: "oldest", Enabled: true, Config: json.RawMessage(`{"segments": 0}`)}}},
		})
		b.CreateTopic("named", 1, map[string]string{"mortise.retention.plugin": "mine", "internal.segment.bytes": "1000"})
		b.CreateTopic("unnamed", 1, map[string]string{"internal.segment.bytes": "1000"})
		c := b.Client(kgo.ProducerBatchCompression(kgo.NoCompression()))
		for _, topic := range []string{"named", "unnamed"} {
			for range 5 {
				if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: make([]byte, 900)}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		start := func(topic string) int64 {
			listed, err := kadm.NewClient(c).ListStartOffsets(t.Context(), topic)
			if err != nil {
				t.Fatal(err)
			}
			o, _ := listed.Lookup(topic, 0)
			return o.Offset
		}
		time.Sleep(1500 * time.Millisecond)
		if got := start("named"); got != 0 || asked.Load() == 0 {
			t.Fatalf("log start %d after %d questions, want 0 after some", got, asked.Load())
		}
		errs, err := b.Control.AlterPlugins(t.Context(), []meta.PluginChange{{Name: "mine",
			Spec: `{"name": "mine", "kind": "retention", "builtin": "oldest", "enabled": true, "config": {"segments": 2}}`}})
		if err != nil || errs[0] != nil {
			t.Fatal(err, errs)
		}
		time.Sleep(1500 * time.Millisecond)
		if got, other := start("named"), start("unnamed"); got < 2 || other != 0 {
			t.Errorf("log starts %d and %d, want at least 2, and 0", got, other)
		}
		// An entry that nobody can read changes nothing.
		if _, err := b.Control.AlterPlugins(t.Context(), []meta.PluginChange{{Name: "bad", Spec: `{"name": "bad", "more": 1}`}}); err != nil {
			t.Fatal(err)
		}
		before := asked.Load()
		time.Sleep(1500 * time.Millisecond)
		if asked.Load() == before {
			t.Error("the plugin serves no more")
		}
	})
}

func TestCatalogueOfSettingsIsChecked(t *testing.T) {
	spec := pluginhost.Spec{Name: "a", Kind: plugin.Retention, Builtin: "oldest"}
	for says, specs := range map[string][]pluginhost.Spec{
		"twice":        {spec, spec},
		"no name":      {{Kind: plugin.Retention, Builtin: "oldest"}},
		"no plugin":    {{Name: "a", Kind: plugin.Retention}},
		"no such kind": {{Name: "a", Kind: "x", Builtin: "oldest"}},
	} {
		o := broker.Options{NodeID: 1, LogDirs: []string{"/d"}, Listeners: []broker.Listener{{Name: "P", Address: "127.0.0.1:0"}},
			Control: brokertest.NewControl("c"), Plugins: broker.Plugins{Catalogue: specs}}
		if _, err := broker.New(o); err == nil {
			t.Errorf("%s: taken", says)
		}
	}
}

// A topic that refuses misplaced keys takes those of a producer that hashes as its
// partitioner does, and names the records of one that does not.
func TestMisplacedKeysAreRefused(t *testing.T) {
	synctest.Test(t, misplacedKeys) // whose clock stands while anybody works: a partitioner has 50 ms to answer
}

func misplacedKeys(t *testing.T) {
	first := partitioner.Plugin(plugin.Plugin{Name: "first", Version: "1.0.0", Features: []string{partitioner.FeatureDeterministic}},
		func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
			return partitioner.Func(func(_ string, key []byte, partitions int32) int32 {
				if len(key) == 0 {
					return partitioner.Any
				}
				return int32(key[0]) % partitions
			}), nil
		})
	b := brokertest.Start(t, brokertest.Options{Plugins: broker.Plugins{Builtins: []plugin.Plugin{first}}})
	b.CreateTopic("checked", 3, map[string]string{"mortise.partitioner": "first", "mortise.partitioner.check": "reject"})
	c := b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordRetries(1), kgo.DisableIdempotentWrite())
	put := func(key string, partition int32) error {
		return c.ProduceSync(t.Context(), &kgo.Record{Topic: "checked", Partition: partition, Key: []byte(key), Value: []byte("v")}).FirstErr()
	}
	if err := put("2", '2'%3); err != nil {
		t.Errorf("a key in its place: %v", err)
	}
	if err := put("1", '2'%3); !errors.Is(err, kerr.InvalidRecord) {
		t.Errorf("a key elsewhere: %v, want INVALID_RECORD", err)
	}
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "checked", Partition: 0, Value: []byte("v")}).FirstErr(); err != nil {
		t.Errorf("no key: %v", err)
	}
}
