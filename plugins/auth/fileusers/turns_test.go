package fileusers

import (
	"context"
	"errors"
	"testing"

	"github.com/mortisemq/mortise/sdk/auth"
)

// blocking is a hash that takes until it is let go.
type blocking struct{ begun, release chan struct{} }

func (b blocking) matches([]byte) bool {
	b.begun <- struct{}{}
	<-b.release
	return true
}
func (b blocking) dummy() passwordHash { return never{b} }

// A flood of logins waits for its turns, and one that gets none in time is neither
// accepted nor refused.
func TestFloodOfLoginsWaits(t *testing.T) {
	a := newUsers(t, "")
	h := blocking{make(chan struct{}, 100), make(chan struct{})}
	a.users.Store(&users{byName: map[string]*user{"alice": {password: h}}, hashes: []passwordHash{h.dummy()}})
	const flood = 50
	results := make(chan auth.Result, flood)
	for range flood {
		go func() {
			r, _ := a.VerifyPassword(context.Background(), &auth.Peer{}, "alice", nil)
			results <- r
		}()
	}
	for range hashesAtOnce() {
		<-h.begun
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if r, err := a.VerifyPassword(ctx, &auth.Peer{}, "alice", nil); !errors.Is(err, context.Canceled) || r.Outcome != auth.Reject {
		t.Errorf("without a turn: %+v, %v", r, err)
	}
	if len(h.begun) != 0 {
		t.Errorf("%d hashes more than %d at once", len(h.begun), hashesAtOnce())
	}
	close(h.release)
	for range flood {
		if r := <-results; r.Outcome != auth.Accept {
			t.Fatalf("%+v", r)
		}
	}
}
