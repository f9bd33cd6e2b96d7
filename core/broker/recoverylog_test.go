package broker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/logdir"
)

// TestLongRecoveryIsTold holds that a person who watches the log of a start that
// takes long sees how far it has come.
func TestLongRecoveryIsTold(t *testing.T) {
	now := clock.NewManual(time.Unix(0, 0))
	var log bytes.Buffer
	b := &Broker{dirs: &logdir.Set{}, options: Options{Clock: now, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	b.dirs.Recovery.LogsTotal.Store(10)
	stop := b.logRecovery()
	now.Advance(recoveryLogEvery - 1)
	if log.Len() > 0 {
		t.Errorf("a short recovery is told: %s", &log)
	}
	b.dirs.Recovery.LogsDone.Store(4)
	now.Advance(1)
	b.dirs.Recovery.LogsDone.Store(7)
	now.Advance(recoveryLogEvery)
	stop()
	now.Advance(time.Hour)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "msg=recovering logs_done=4 logs_total=10") || !strings.Contains(lines[1], "logs_done=7") {
		t.Errorf("%s", &log)
	}
}
