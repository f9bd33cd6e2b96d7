package broker_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/loglevel"
)

// safeBuffer is a buffer that a broker logs to while a test reads.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// take is what was written since the last call.
func (s *safeBuffer) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

// setLevel changes a logger's level; "": it gets the root's.
func setLevel(t *testing.T, c *kgo.Client, logger, level string) error {
	t.Helper()
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBrokerLogger, "1"
	k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	k.Name, k.Value = logger, &level
	if level == "" {
		k.Op, k.Value = kmsg.IncrementalAlterConfigOpDelete, nil
	}
	r.Configs = append(r.Configs, k)
	q.Resources = append(q.Resources, r)
	return kerr.ErrorForCode(request(t, c, q).Resources[0].ErrorCode)
}

// TestRoomsHaveLevels: a level that a client sets counts for its room's log, and for no
// other; a room without one has the root's.
func TestRoomsHaveLevels(t *testing.T) {
	var out safeBuffer
	levels := loglevel.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: loglevel.Trace}), &slog.LevelVar{})
	b := brokertest.Start(t, brokertest.Options{Log: levels.Logger(loglevel.Root)})
	c := b.Client()
	const said = "log level changed" // by the room api
	for _, step := range []struct {
		logger, level string
		says          bool
	}{
		{"mortise.server", "DEBUG", true}, {"mortise.api", "ERROR", false}, {"mortise.server", "", false},
		{"root", "FATAL", false}, {"mortise.api", "INFO", true}, {"mortise.api", "", false}, {"root", "INFO", true},
	} {
		out.take()
		if err := setLevel(t, c, step.logger, step.level); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.take(), said); got != step.says {
			t.Errorf("after %s=%q it says so: %v, want %v", step.logger, step.level, got, step.says)
		}
	}
	want := map[string]bool{"root": true}
	for _, room := range []string{"api", "commitlog", "compaction", "coordinator", "future", "logdir", "partition", "reconcile", "server"} {
		want["mortise."+room] = true
	}
	for _, l := range levels.All() {
		delete(want, l.Name)
	}
	if len(want) > 0 {
		t.Errorf("no loggers for %v", want)
	}
}
