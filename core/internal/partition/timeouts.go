package partition

import (
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// timeouts is the one timer for all that waits for replicas with a limit. A partition
// is in its list while one of its awaits has a limit.
type timeouts struct {
	mu     sync.Mutex
	timer  clock.Timer // nil: never armed
	armed  time.Time   // when it fires; zero: it does not
	listed []*Partition
}

// expireAt has p.expire called at a time. listed: p is in the list already.
//
// Hot: per append only while it is the first that waits; under a steady load once per
// limit.
func (p *Parts) expireAt(of *Partition, at time.Time, listed bool) {
	t := &p.timeouts
	t.mu.Lock()
	defer t.mu.Unlock()
	if !listed {
		t.listed = append(t.listed, of)
	}
	if !t.armed.IsZero() && !at.Before(t.armed) {
		return
	}
	t.armed = at
	d := at.Sub(p.Clock.Now())
	if t.timer == nil {
		t.timer = p.Clock.AfterFunc(d, p.expire)
		return
	}
	t.timer.Reset(d)
}

// expire ends what has waited too long.
func (p *Parts) expire() {
	t := &p.timeouts
	t.mu.Lock()
	list := t.listed
	t.listed, t.armed = nil, time.Time{}
	t.mu.Unlock()
	now := p.Clock.Now()
	for _, of := range list {
		if next := of.expire(now); !next.IsZero() {
			p.expireAt(of, next, false)
		}
	}
}
