package pluginhost

import (
	"math/rand/v2"
	"time"
)

// How a plugin that ends is started again.
const (
	backoffMin    = 250 * time.Millisecond
	backoffMax    = 30 * time.Second
	restartsMax   = 5           // in restartWindow; one more is given up on
	restartWindow = time.Minute // also: who serves this long has recovered
)

// budget counts the restarts of one plugin.
type budget struct {
	starts  []time.Time // within restartWindow, oldest first; at most restartsMax
	attempt int         // since it last recovered
}

// spend asks for a restart: how long to wait before it, or false when there were too
// many.
func (b *budget) spend(now time.Time) (time.Duration, bool) {
	for len(b.starts) > 0 && now.Sub(b.starts[0]) >= restartWindow {
		b.starts = b.starts[1:]
	}
	if len(b.starts) >= restartsMax {
		return 0, false
	}
	b.starts = append(b.starts, now)
	wait := backoff(b.attempt, rand.Float64())
	b.attempt++
	return wait, true
}

// recovered says that the plugin served well for restartWindow.
func (b *budget) recovered() { b.attempt = 0 }

// backoff doubles from backoffMin and adds up to a quarter, so that many plugins
// that ended at once don't come back at once. r is from 0 to 1.
func backoff(attempt int, r float64) time.Duration {
	d := backoffMax
	if attempt < 10 {
		d = min(backoffMin<<attempt, backoffMax)
	}
	return min(d+time.Duration(r*float64(d)/4), backoffMax)
}
