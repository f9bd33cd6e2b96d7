package topics

import "sync"

// Max is how many topics are remembered.
const Max = 10_000

// Topics holds a T for each topic. The zero value is ready, and it is safe for
// concurrent use; a T guards itself.
type Topics[T any] struct {
	mu sync.RWMutex
	of map[string]*T // guarded by mu
}

// Of is what is remembered of a topic; a zero T the first time.
//
// Hot: per question. 0 allocs for a known topic.
func (t *Topics[T]) Of(topic string) *T {
	t.mu.RLock()
	known := t.of[topic]
	t.mu.RUnlock()
	if known != nil {
		return known
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known = t.of[topic]; known != nil {
		return known
	}
	if t.of == nil || len(t.of) >= Max {
		t.of = map[string]*T{}
	}
	known = new(T)
	t.of[topic] = known
	return known
}
