package broker

import (
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// giveUpEvery is how often a broker that is cut off looks for what waits in vain.
const giveUpEvery = 500 * time.Millisecond

// contact is how long ago whoever decides was heard of. It is safe for concurrent use.
type contact struct {
	mu     sync.Mutex
	last   time.Time   // guarded by mu
	timer  clock.Timer // nil: nothing was heard yet, or never will be; guarded by mu
	closed bool        // guarded by mu
}

// Heard says that whoever decides has answered what was sent to it at that time. A broker
// that has not heard of it for half of broker.session.timeout.ms tells producers that wait
// for followers it does not hear of either to look for the leader: it may be another by
// now, and else they come back. A leader whose in-sync followers fetch goes on.
func (b *Broker) Heard(sent time.Time) {
	c := &b.contact
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last = sent; c.closed {
		return
	}
	b.roles.CutOff(false, 0)
	if c.timer == nil {
		c.timer = b.options.Clock.AfterFunc(b.patience(), b.lookForContact)
	}
}

// patience is how long who decides may be silent.
func (b *Broker) patience() time.Duration {
	return time.Duration(b.config().Replication.SessionTimeoutMS) * time.Millisecond / 2
}

// lookForContact looks how long ago who decides was heard of, and comes again.
func (b *Broker) lookForContact() {
	patience := b.patience()
	c := &b.contact
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	again := patience - b.options.Clock.Now().Sub(c.last)
	cutOff := again <= 0
	if cutOff {
		again = giveUpEvery
	}
	b.roles.CutOff(cutOff, patience)
	c.timer.Reset(again)
}

// close ends the looks, and waits for one that is under way.
func (c *contact) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}
