package broker

import (
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// recoveryLogEvery is how often the log tells how far a long recovery has come. A
// short one is told once, at its end.
const recoveryLogEvery = 5 * time.Second

// recoveryLog tells how far the opening of the logs has come, until stop.
type recoveryLog struct {
	b *Broker

	mu    sync.Mutex
	timer clock.Timer // guarded by mu; nil: stopped
}

// logRecovery starts to tell. Its result ends it.
func (b *Broker) logRecovery() (stop func()) {
	l := &recoveryLog{b: b}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = b.options.Clock.AfterFunc(recoveryLogEvery, l.tell)
	return l.stop
}

func (l *recoveryLog) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return
	}
	r := &l.b.dirs.Recovery
	l.b.options.Log.Info("recovering",
		"logs_done", r.LogsDone.Load(), "logs_total", r.LogsTotal.Load(),
		"bytes_done", r.BytesDone.Load(), "bytes_total", r.BytesTotal.Load())
	l.timer.Reset(recoveryLogEvery)
}

func (l *recoveryLog) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.timer = nil
}
