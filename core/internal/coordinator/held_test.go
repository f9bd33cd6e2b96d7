package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
)

// heard is who gets an answer.
type heard chan struct{}

func (h heard) Answer(kmsg.Response) { close(h) }

// TestOwnAppendEndsAWait: an append of the shard, made with its lock held, may be what
// tells of an earlier one that was committed. That must not wait for the lock.
func TestOwnAppendEndsAWait(t *testing.T) {
	answered := make(heard)
	s := &shard{awaits: 1, held: []held{{end: 5, replies: []group.Reply{{To: answered}}}}}
	s.mu.Lock()
	told := make(chan struct{})
	go func() {
		(&committed{shard: s, end: 5}).Synced(nil)
		close(told)
	}()
	for _, step := range []struct {
		done   <-chan struct{}
		before func()
	}{{told, func() {}}, {answered, s.mu.Unlock}} {
		step.before()
		select {
		case <-step.done:
		case <-time.After(time.Minute):
			t.Fatal("the wait does not end")
		}
	}
}
