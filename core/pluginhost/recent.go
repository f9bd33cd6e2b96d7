package pluginhost

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
)

// recentMax is how many decisions are kept to show an authorizer's next version;
// recentEvery is how often one is.
const (
	recentMax   = 64
	recentEvery = 10 * time.Millisecond
)

// recent keeps some of the last decisions of an authorizer. It is safe for
// concurrent use.
type recent struct {
	mu    sync.Mutex
	kept  []asked   // at most recentMax; guarded by mu
	next  int       // where the next goes; guarded by mu
	after time.Time // when the next is kept; guarded by mu
}

// asked is a question and its answer.
type asked struct {
	client  auth.Client
	action  auth.Action
	verdict auth.Verdict
}

// note keeps a decision now and then. Who would wait for another does not.
func (r *recent) note(now time.Time, c *auth.Client, a auth.Action, v auth.Verdict) {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	if now.Before(r.after) {
		return
	}
	r.after = now.Add(recentEvery)
	client := *c
	client.Groups = slices.Clone(c.Groups)
	one := asked{client, a, v}
	if len(r.kept) < recentMax {
		r.kept = append(r.kept, one)
		return
	}
	r.kept[r.next] = one
	r.next = (r.next + 1) % recentMax
}

func (r *recent) all() []asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}

// replay asks the next generation what was asked lately and tells how many answers
// differ. It decides nothing: a new version may be meant to differ.
func (s *slot) replay(ctx context.Context, g *generation) {
	differ, all := 0, s.recent.all()
	out := make([]auth.Decision, 1)
	for i := range all {
		if err := g.authorizer.Authorize(ctx, &all[i].client, []auth.Action{all[i].action}, out); err != nil {
			s.host.o.Log.Warn("replay of recent decisions ended early", "plugin", s.name, "asked", i, "err", err)
			return
		}
		if out[0].Verdict != all[i].verdict {
			differ++
		}
	}
	if differ > 0 {
		s.host.o.Log.Warn("the next version decides differently", "plugin", s.name, "asked", len(all), "different", differ)
	}
	s.update(func(v *view) { v.replayed, v.different = len(all), differ })
}
