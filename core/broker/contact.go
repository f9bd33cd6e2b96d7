package broker

import (
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// giveUpEvery is how often a broker that is cut off looks for what waits in vain.
const giveUpEvery = 500 * time.Millisecond

// contact is how long ago whoever decides was heard of. It is safe for concurrent use. Lock
// order: mu before the locks of partitions; who waits there is told with it held.
type contact struct {
	mu     sync.Mutex
	last   time.Time   // guarded by mu
	due    time.Time   // of the next look; guarded by mu
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
		patience := b.patience()
		c.due = b.options.Clock.Now().Add(patience)
		c.timer = b.options.Clock.AfterFunc(patience, b.lookForContact)
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
	cutOff, again := c.look(b.options.Clock.Now(), patience)
	b.roles.CutOff(cutOff, patience)
	c.timer.Reset(again)
}

// look says whether who decides is silent for too long, and when the next look is to be.
// One that comes late says nothing: the process stood still, and what others have sent
// meanwhile is not read yet. Caller holds mu.
func (c *contact) look(now time.Time, patience time.Duration) (cutOff bool, again time.Duration) {
	late := now.Sub(c.due) >= giveUpEvery
	if again = patience - now.Sub(c.last); again <= 0 {
		cutOff, again = !late, giveUpEvery
	}
	c.due = now.Add(again)
	return cutOff, again
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
