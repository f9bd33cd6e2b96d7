package membership

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds of what the library logs: whoever reaches the gossip port can make it write.
const (
	linesMax    = 20
	linesWindow = 10 * time.Second
)

// lines lets the library log through slog. It calls much a warning that a network has
// every day, so everything goes one level down.
type lines struct {
	log *slog.Logger

	mu      sync.Mutex
	since   time.Time // guarded by mu, as all that follows
	written int
	dropped int
}

// newLogger wraps log for the library.
func newLogger(to *slog.Logger) *log.Logger { return log.New(&lines{log: to}, "", 0) }

// Write implements io.Writer: one line.
func (l *lines) Write(b []byte) (int, error) {
	level, text := slog.LevelDebug, strings.TrimSpace(string(b))
	if rest, ok := strings.CutPrefix(text, "["); ok {
		var name string
		name, text, _ = strings.Cut(rest, "]")
		switch name {
		case "ERR":
			level = slog.LevelWarn
		case "WARN":
			level = slog.LevelInfo
		}
	}
	ctx := context.Background()
	if !l.log.Enabled(ctx, level) {
		return len(b), nil
	}
	allowed, dropped := l.admit()
	if dropped > 0 {
		l.log.Info("gossip: lines left out", "count", dropped)
	}
	if allowed {
		text = strings.TrimPrefix(strings.TrimSpace(text), "memberlist: ")
		l.log.Log(ctx, level, "gossip: "+text)
	}
	return len(b), nil
}

// admit says whether a line may be written, and how many were not in the last window.
func (l *lines) admit() (allowed bool, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= linesWindow {
		dropped = l.dropped
		l.since, l.written, l.dropped = now, 0, 0
	}
	if l.written == linesMax {
		l.dropped++
		return false, dropped
	}
	l.written++
	return true, dropped
}
