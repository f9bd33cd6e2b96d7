package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/wire"
)

// logEvery is how often one reason is logged at most.
const logEvery = 10 * time.Second

// journal logs and counts rejections. A flood of one kind gives one line every
// logEvery, with the number of those that were left out.
type journal struct {
	log   *slog.Logger
	clock clock.Clock
	m     *counters

	mu   sync.Mutex
	last [reasons]time.Time // guarded by mu
	kept [reasons]int       // guarded by mu; not logged since last
}

// note counts r and logs it if it is time.
func (j *journal) note(r reason, msg string, attrs ...slog.Attr) {
	j.m.rejected[r].Add(1)
	if j.log == nil {
		return
	}
	now := j.clock.Now()
	j.mu.Lock()
	if last := j.last[r]; !last.IsZero() && now.Sub(last) < logEvery {
		j.kept[r]++
		j.mu.Unlock()
		return
	}
	kept := j.kept[r]
	j.last[r], j.kept[r] = now, 0
	j.mu.Unlock()
	if kept > 0 {
		attrs = append(attrs, slog.Int("suppressed", kept))
	}
	j.log.LogAttrs(context.Background(), slog.LevelWarn, msg, attrs...)
}

// reasonOf names an error that closed a connection; ok is false when the peer
// closed it, which is nothing to report.
func reasonOf(err error) (r reason, ok bool) {
	for _, k := range [...]struct {
		err error
		r   reason
	}{
		{errFrameSize, reasonFrameSize}, {errVersion, reasonVersion}, {wire.ErrMalformed, reasonMalformed},
		{errTLS, reasonTLS}, {errHTTP, reasonHTTP}, {errIdle, reasonIdle},
		{errFrameTimeout, reasonFrameTimeout}, {errWriteTimeout, reasonWriteTimeout},
		{errShortBody, reasonShortBody}, {errNoMemory, reasonNoMemory}, {errUnread, reasonUnread},
	} {
		if errors.Is(err, k.err) {
			return k.r, true
		}
	}
	return reasonOther, false
}
