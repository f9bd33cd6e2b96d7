package broker_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// page fetches a page of the admin listener.
func page(t *testing.T, b *brokertest.Broker, path string) (int, string) {
	t.Helper()
	r, err := b.HTTP().Get("http://" + b.AdminAddr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// healthPage is what /v1/health says.
type healthPage struct {
	ClusterID  string `json:"cluster_id"`
	Ready      bool
	Partitions int
	Offline    int `json:"offline_partitions"`
	LogDirs    []struct {
		Path      string
		Available int64 `json:"available_bytes"`
		Offline   string
	} `json:"log_dirs"`
	FailedCleanings int `json:"failed_cleanings"`
	Problems        []struct{ Kind, What, Advice string }
}

func health(t *testing.T, b *brokertest.Broker) (status int, h healthPage) {
	t.Helper()
	status, body := page(t, b, "/v1/health")
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return status, h
}

// A disk that fails must be named, with what to do, and its partitions be counted.
func TestHealthNamesAFailedDisk(t *testing.T) {
	var broken atomic.Bool
	disk := errorfs.New(vfs.NewMem(), func(op vfs.Op) error {
		if broken.Load() && op.Kind == vfs.OpWrite && strings.Contains(op.Name, "/t-0/") {
			return errorfs.ErrInjected
		}
		return nil
	})
	b := brokertest.Start(t, brokertest.Options{FS: disk, Admin: true, Loopback: true})
	b.CreateTopic("t", 2, nil)
	if status, h := health(t, b); status != http.StatusOK || !h.Ready || h.ClusterID != "brokertest" || h.Partitions != 2 || len(h.LogDirs) != 1 || len(h.Problems) != 0 {
		t.Fatalf("healthy: %d %+v", status, h)
	}
	broken.Store(true)
	c := b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordRetries(0), kgo.DisableIdempotentWrite())
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr(); err == nil {
		t.Fatal("written to a disk that fails")
	}
	status, h := health(t, b)
	if status != http.StatusServiceUnavailable || h.Offline != 2 || h.LogDirs[0].Offline == "" ||
		len(h.Problems) != 1 || h.Problems[0].Kind != "log-dir-offline" || h.Problems[0].Advice == "" {
		t.Errorf("%d %+v, want one problem: the directory", status, h)
	}
}

// What a group has not read is on /metrics, for the partitions together.
func TestMetricsShowLagOfGroups(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Admin: true, Loopback: true})
	b.CreateTopic("a", 3, nil)
	produce(t, b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner())), "a", 0, 90)
	var o kadm.Offsets
	for p, at := range []int64{10, 30, 0} {
		o.AddOffset("a", int32(p), at, -1)
	}
	if err := kadm.NewClient(b.Client()).CommitAllOffsets(t.Context(), "billing", o); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, body := page(t, b, "/metrics")
		if want := `mortise_group_lag_records{group="billing",topic="a"} 50`; !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
		b.Restart() // and what is loaded from __consumer_offsets counts like what was committed
		if _, err := kadm.NewClient(b.Client()).FetchOffsets(t.Context(), "billing"); err != nil {
			t.Fatal(err)
		}
	}
}

// compactedBroker is a broker whose compaction runs when its clock says so, in small
// segments.
func compactedBroker(t *testing.T, fsys vfs.FS) (*brokertest.Broker, *clock.Manual) {
	t.Helper()
	manual := clock.NewManual(now())
	return brokertest.Start(t, brokertest.Options{FS: fsys, Clock: manual, Admin: true, Loopback: true,
		Static: config.Static{"log.cleaner.backoff.ms": "1000", "group.initial.rebalance.delay.ms": "0"}}), manual
}

// A bad segment stops the cleaning of its own partition and no other, and that is seen
// on /metrics, on /v1/topics and in the health.
func TestFailedCleaningIsSeenEverywhere(t *testing.T) {
	mem := vfs.NewMem()
	b, manual := compactedBroker(t, mem)
	b.CreateTopic("c", 2, compactedTopic())
	fillCompacted(t, b, "c", 2, 200)
	f, err := mem.OpenFile("/data/logs/c-0/00000000000000000000.log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	manual.Advance(2 * compactionTick)
	_, body := page(t, b, "/v1/topics/c")
	var topic struct {
		Topic      string
		Partitions []struct {
			Partition, Segments int
			Leader              bool
			LogDir              string `json:"log_dir"`
			LogEnd              int64  `json:"log_end_offset"`
			Size                int64  `json:"size_bytes"`
			Cleaner             *struct {
				CleanedTo int64 `json:"cleaned_to"`
				Failed    string
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &topic); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	bad, good := topic.Partitions[0], topic.Partitions[1]
	if bad.Cleaner == nil || bad.Cleaner.Failed == "" || bad.Cleaner.CleanedTo != -1 || bad.LogEnd != 200 || !bad.Leader || bad.LogDir != "/data/logs" {
		t.Errorf("the bad partition: %s", body)
	}
	if good.Cleaner == nil || good.Cleaner.Failed != "" || good.Cleaner.CleanedTo <= 0 || good.Segments < 2 || good.Size == 0 {
		t.Errorf("the good partition: %s", body)
	}
	_, metrics := page(t, b, "/metrics")
	for _, want := range []string{"mortise_compaction_failed_logs 1", `mortise_compaction_failed{partition="0",topic="c"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %q on /metrics", want)
		}
	}
	if status, h := health(t, b); status != http.StatusServiceUnavailable || h.FailedCleanings != 1 ||
		len(h.Problems) != 1 || h.Problems[0].Kind != "failed-cleaning" || !strings.HasPrefix(h.Problems[0].What, "c-0 ") {
		t.Errorf("%d %+v", status, h)
	}
}
