package security

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// complainEvery is how often the log is told at most that one plugin gives no answer:
// clients come again, and each of them would make a line.
const complainEvery = 10 * time.Second

// complaint tells the log that a plugin gives no answer. It is safe for concurrent use.
type complaint struct {
	mu     sync.Mutex
	last   time.Time // when the log was told; guarded by mu
	untold int       // questions without an answer since; guarded by mu
}

// tell tells the log unless it was told lately, then with how many there were in between.
func (c *complaint) tell(now time.Time, log *slog.Logger, msg string, attrs ...slog.Attr) {
	c.mu.Lock()
	if !c.last.IsZero() && now.Sub(c.last) < complainEvery {
		c.untold++
		c.mu.Unlock()
		return
	}
	untold := c.untold
	c.last, c.untold = now, 0
	c.mu.Unlock()
	if untold > 0 {
		attrs = append(attrs, slog.Int("untold", untold))
	}
	log.LogAttrs(context.Background(), slog.LevelWarn, msg, attrs...)
}
