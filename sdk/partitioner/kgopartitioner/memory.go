package kgopartitioner

import "sync"

// memory is where the keys of one topic go.
type memory struct {
	mu         sync.RWMutex
	partitions int32            // that answers are for, guarded by mu
	at         map[string]int32 // guarded by mu
}

// get is where a key goes.
//
// Hot: per record. 0 allocs.
func (m *memory) get(key []byte, partitions int32) (int32, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.partitions != partitions {
		return 0, false
	}
	at, ok := m.at[string(key)]
	return at, ok
}

// put remembers where a key goes. What was remembered is forgotten when the topic has
// another number of partitions, and when there are as many keys as max.
func (m *memory) put(key []byte, partitions, at int32, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.partitions != partitions || len(m.at) >= most {
		m.partitions, m.at = partitions, map[string]int32{}
	}
	m.at[string(key)] = at
}
