package purgatory

import "slices"

// Watcher is told of all progress of a list, whether it waits for some or not: who serves
// thousands of partitions looks only at those that moved.
type Watcher interface {
	// Moved says that n more bytes became visible, or more than that after a Nudge. The
	// appender calls it: it must not wait, nor take a lock under which somebody watches.
	Moved(n int64)
	// Over reports whether the watcher has no use for this any more. The list forgets it
	// when somebody else begins to watch.
	Over() bool
}

// Watch has w told of what becomes visible from now on. What a watcher reads afterwards
// includes all that it was not told of. Few watch a list; a change copies them.
func (l *List) Watch(w Watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setWatchers(append(l.remaining(Watcher.Over), w))
}

// Unwatch ends that. Calls that are under way may still come.
func (l *List) Unwatch(w Watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setWatchers(l.remaining(func(o Watcher) bool { return o == w }))
}

// remaining is a copy of the watchers without those that go. Caller holds mu.
func (l *List) remaining(goes func(Watcher) bool) []Watcher {
	if all := l.watchers.Load(); all != nil {
		return slices.DeleteFunc(slices.Clone(*all), goes)
	}
	return nil
}

// setWatchers replaces the watchers. Caller holds mu.
func (l *List) setWatchers(all []Watcher) {
	if len(all) == 0 {
		l.watchers.Store(nil)
		return
	}
	l.watchers.Store(&all)
}

// tell tells the watchers of n more bytes.
func (l *List) tell(n int64) {
	if all := l.watchers.Load(); all != nil {
		for _, w := range *all {
			w.Moved(n)
		}
	}
}
