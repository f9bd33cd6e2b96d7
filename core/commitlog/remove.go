package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

const (
	// removeTries is how often the removal of a stale file is tried.
	removeTries = 10
	// removeRetry is the time between tries.
	removeRetry = 30 * time.Second
)

// removeSegment removes the files of a segment, which are marked, after delayMS.
func (l *Log) removeSegment(s *segment.Segment, delayMS int64) {
	l.try(delayMS, s.RemoveMarked, removeTries)
}

// removeLater removes a file, at once if delayMS is 0; when that fails it is
// logged and tried again.
func (l *Log) removeLater(delayMS int64, name string) {
	l.try(delayMS, func() error {
		if err := l.fs.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}, removeTries)
}

// try runs f after delayMS until it succeeds, at most tries times. What remains is
// found by the next Open. Caller holds mu.
func (l *Log) try(delayMS int64, f func() error, tries int) {
	if delayMS <= 0 {
		err := f()
		if err == nil {
			return
		}
		if tries--; !l.triesAgain(err, tries) {
			return
		}
		delayMS = removeRetry.Milliseconds()
	}
	l.later(delayMS, f, tries)
}

// triesAgain tells whether a removal that failed is tried once more.
func (l *Log) triesAgain(err error, left int) bool {
	l.log.Warn("stale file was not removed", "partition", l.tp.String(), "tries_left", left, "err", err)
	return left > 0
}

// later runs f after delayMS, without the lock: the removal of a large file takes the
// disk longer than appends may wait. Close waits for it. Caller holds mu.
func (l *Log) later(delayMS int64, f func() error, tries int) {
	var t clock.Timer
	t = l.clock.AfterFunc(time.Duration(delayMS)*time.Millisecond, func() {
		if !l.removalBegins(&t) {
			return
		}
		defer l.removing.Done()
		if err := f(); err != nil && l.triesAgain(err, tries-1) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if !l.closed.Load() {
				l.later(removeRetry.Milliseconds(), f, tries-1)
			}
		}
	})
	l.timers = append(l.timers, t)
}

// removalBegins takes a timer that came due off the list; false: the log is closed.
func (l *Log) removalBegins(t *clock.Timer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timers = slices.DeleteFunc(l.timers, func(have clock.Timer) bool { return have == *t })
	if l.closed.Load() {
		return false
	}
	l.removing.Add(1)
	return true
}

// Close ends the use of the log. Clean makes everything durable, so that the next
// Open needs no recovery; otherwise the files are left as a crash would. Ranges in
// flight stay readable. After an error, also that of a log which had failed before,
// the next Open must recover.
//
// Cost of a log that did not change since it was opened: nothing on disk.
func (l *Log) Close(clean bool) error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if !l.stop() {
		return nil
	}
	var err error
	if clean {
		if failed := l.failure.Load(); failed != nil {
			err = *failed
		} else {
			err = l.closeClean()
		}
	}
	l.letGo()
	return err
}

// letGo closes the files, and forgets the producers.
func (l *Log) letGo() {
	for _, s := range l.list() {
		s.Close()
	}
	l.producers.Reset()
}

// stop ends appends and removals, and tells whether it was the first to do so.
func (l *Log) stop() bool {
	l.mu.Lock()
	first := !l.closed.Swap(true)
	for _, t := range l.timers {
		t.Stop()
	}
	l.timers = nil
	l.mu.Unlock()
	l.removing.Wait()
	return first
}

// closeClean writes what Open wants to find. The snapshot comes before the sync,
// which makes it durable together with the rest.
func (l *Log) closeClean() error {
	if err := l.active().SaveIndexes(true); err != nil {
		return l.storageError(err)
	}
	l.mu.Lock()
	err := l.takeSnapshot(l.EndOffset())
	l.mu.Unlock()
	if err != nil {
		return l.storageError(err)
	}
	_, err = l.sync()
	return err
}

// Delete removes the log: its folder is renamed at once, so that the name is free,
// and then removed. What can't be removed is logged; the owner of the log
// directory finds it by its name at the next start.
func (l *Log) Delete() error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.stop()
	from := l.dir.Path()
	to := filepath.Join(filepath.Dir(from), l.tp.DeletedName(kafka.NewTopicID()))
	err := l.fs.Rename(from, to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l.storageError(fmt.Errorf("delete log: %w", err))
	}
	l.dir.Moved(to)
	l.letGo()
	if err := l.fs.RemoveAll(to); err != nil {
		l.log.Warn("deleted log was not removed from disk", "partition", l.tp.String(), "dir", to, "err", err)
	}
	return nil
}
