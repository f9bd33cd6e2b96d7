package clusterload_test

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// journal notes when what was done to whom, to be laid beside the logs of the nodes.
type journal struct {
	began time.Time
	mu    sync.Mutex
	to    io.Writer // guarded by mu
}

func newJournal(to io.Writer) *journal { return &journal{began: time.Now(), to: to} }

// note writes a line.
func (w *world) note(format string, args ...any) {
	j := w.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := fmt.Fprintf(j.to, "%s "+format+"\n", append([]any{w.now()}, args...)...); err != nil {
		w.t.Errorf("journal: %v", err)
	}
}

// now is the time as the nodes' logs have it, and as the journal counts it.
func (w *world) now() string {
	now := time.Now()
	return fmt.Sprintf("%s (%.3f s)", now.Format("15:04:05.000"), now.Sub(w.journal.began).Seconds())
}
