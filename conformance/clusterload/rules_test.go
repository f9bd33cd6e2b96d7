package clusterload_test

import (
	"sync"
	"time"
)

// host is this machine among the ends of links, where clients are.
const host int32 = 254

// linkRules say what happens on each link between two ends. Faults may overlap: each takes back
// only what it did.
type linkRules struct {
	mu     sync.RWMutex
	cuts   map[[2]int32]int             // guarded by mu; from, to
	delays map[[2]int32][]time.Duration // guarded by mu
}

// of is what happens from one end to another.
func (l *linkRules) of(from, to int32) (cut bool, delay time.Duration) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	link := [2]int32{from, to}
	for _, d := range l.delays[link] {
		delay = max(delay, d)
	}
	return l.cuts[link] > 0, delay
}

// cut loses all that goes from one end to another, until undo.
func (l *linkRules) cut(from, to int32) (undo func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cuts == nil {
		l.cuts = map[[2]int32]int{}
	}
	l.cuts[[2]int32{from, to}]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cuts[[2]int32{from, to}]--
	}
}

// slow holds up all that goes from one end to another, until undo.
func (l *linkRules) slow(from, to int32, by time.Duration) (undo func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.delays == nil {
		l.delays = map[[2]int32][]time.Duration{}
	}
	link := [2]int32{from, to}
	l.delays[link] = append(l.delays[link], by)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, d := range l.delays[link] {
			if d == by {
				l.delays[link] = append(l.delays[link][:i:i], l.delays[link][i+1:]...)
				return
			}
		}
	}
}
