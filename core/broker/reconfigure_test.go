package broker_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// A reload counts for the partitions that are there already: topics without values
// of their own take the file's.
func TestReloadReachesPartitions(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{})
	b.CreateTopic("plain", 1, nil)
	b.CreateTopic("own", 1, map[string]string{"max.message.bytes": "100000"})
	c := b.Client(kgo.ProducerBatchCompression(kgo.NoCompression()))
	big := func(topic string) error {
		return c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: make([]byte, 5000)}).FirstErr()
	}
	if err := errors.Join(big("plain"), big("own")); err != nil {
		t.Fatal(err)
	}
	if pending := b.Reconfigure(config.Static{"message.max.bytes": "1000"}); len(pending) != 0 {
		t.Errorf("%v wait for a restart, want none", pending)
	}
	if err := big("plain"); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("topic without values of its own: %v, want %v", err, kerr.MessageTooLarge)
	}
	if err := big("own"); err != nil {
		t.Errorf("topic with a value of its own: %v", err)
	}
	b.Reconfigure(nil)
	if err := big("plain"); err != nil {
		t.Errorf("after the value was taken out of the file again: %v", err)
	}
}

// A partition whose log can't be opened has no numbers to show; it must not take
// those of the others away, nor the process.
func TestMetricsLeaveBrokenPartitionsOut(t *testing.T) {
	faults := new(errorfs.Switch)
	b := brokertest.Start(t, brokertest.Options{FS: errorfs.New(vfs.NewMem(), faults.Inject), Admin: true, Loopback: true})
	b.CreateTopic("t", 2, nil)
	create(t, b.Client(), "u") // t is in place, too
	b.Stop()
	faults.On(errorfs.Path("/t-1/", vfs.OpOpen), syscall.EMFILE)
	b.Restart()
	faults.Off()

	r, err := b.HTTP().Get("http://" + b.AdminAddr() + "/metrics?partitions=true")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	has := func(partition string) bool {
		return strings.Contains(string(body), `mortise_partition_log_end_offset{partition="`+partition+`",topic="t"}`)
	}
	if r.StatusCode != http.StatusOK || !has("0") || has("1") {
		t.Errorf("status %d, partition 0 shown: %v, broken partition 1 shown: %v", r.StatusCode, has("0"), has("1"))
	}
}
