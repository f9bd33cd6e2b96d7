package auth

import (
	"context"
	"sync"
)

// News is the Watch of an Authorizer: Set says what the policy is now, and every Watch
// tells it. Set does not wait for them: who is slow hears of the newest only. The zero
// value tells of epoch 0 and no rules. It is safe for concurrent use.
type News struct {
	mu      sync.Mutex
	now     Event         // guarded by mu
	changed chan struct{} // closed when now is another one, guarded by mu; nil: nobody waits
}

// Set is news. An epoch that is not greater than the present one is ignored, so that
// epochs never go back.
func (n *News) Set(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.Epoch <= n.now.Epoch {
		return
	}
	n.now = e
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// Epoch is the present one.
func (n *News) Epoch() uint64 {
	now, _ := n.wait()
	return now.Epoch
}

// Watch is the method of Authorizer.
func (n *News) Watch(ctx context.Context, send func(Event) error) error {
	for {
		now, changed := n.wait()
		if err := send(now); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait returns the present event and what is closed when there is another.
func (n *News) wait() (Event, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.now, n.changed
}
