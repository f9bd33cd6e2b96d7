package coordinator

import (
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/meta"
)

// see tells the shard what topics there are. added: group.State.SetImage.
func (s *shard) see(img *meta.Image, added func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == statusActive {
		s.state.SetImage(img, added)
	}
}

// look has the questions answered that operations left: which topics a group's
// expressions stand for. One goroutine of a shard does so, while there are any.
// Caller holds mu.
func (s *shard) look() {
	s.lookups = append(s.lookups, s.state.TakeLookups()...)
	if len(s.lookups) == 0 || s.looking {
		return
	}
	s.looking = true
	s.c.running.Go(func() {
		for {
			l, ok := s.nextLookup()
			if !ok {
				return
			}
			s.c.looking <- struct{}{}
			found, ok := l.Find(s.c.current.Load(), s.now(), s.ended)
			<-s.c.looking
			s.do(func(state *group.State, now int64) (out group.Output) {
				if !ok {
					state.Unresolved(l.Group)
					return out
				}
				return state.Resolved(now, l.Group, found)
			})
		}
	})
}

// nextLookup takes the oldest question; false: there is none, and the goroutine that
// asked is to end.
func (s *shard) nextLookup() (l group.Lookup, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lookups) == 0 || s.status != statusActive {
		s.looking = false
		return l, false
	}
	l, s.lookups = s.lookups[0], s.lookups[1:]
	return l, true
}
