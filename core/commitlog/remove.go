package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
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
// found by the next Open. Caller holds mu, or nobody else has the log yet.
func (l *Log) try(delayMS int64, f func() error, tries int) {
	if delayMS <= 0 {
		err := f()
		if err == nil {
			return
		}
		l.log.Warn("stale file was not removed, trying again", "partition", l.tp.String(), "tries_left", tries-1, "err", err)
		if tries == 1 {
			return
		}
		tries, delayMS = tries-1, removeRetry.Milliseconds()
	}
	var t clock.Timer
	t = l.clock.AfterFunc(time.Duration(delayMS)*time.Millisecond, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timers = slices.DeleteFunc(l.timers, func(have clock.Timer) bool { return have == t })
		if !l.closed.Load() {
			l.try(0, f, tries)
		}
	})
	l.timers = append(l.timers, t)
}

// Close ends the use of the log. Clean makes everything durable, so that the next
// Open needs no recovery; otherwise the files are left as a crash would. Ranges in
// flight stay readable.
//
// Cost of a log that did not change since it was opened: nothing on disk.
func (l *Log) Close(clean bool) error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	if !l.stop() {
		return nil
	}
	var err error
	if clean && l.failure.Load() == nil {
		err = l.closeClean()
	}
	for _, s := range l.list() {
		s.CloseFile()
	}
	l.producers.Reset()
	return err
}

// stop ends appends and timers, and tells whether it was the first to do so.
func (l *Log) stop() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Swap(true) {
		return false
	}
	for _, t := range l.timers {
		t.Stop()
	}
	l.timers = nil
	return true
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

// deletedNameMax is the longest name of a folder; Kafka cuts the topic for it.
const deletedNameMax = 255

// Delete removes the log: its folder is renamed at once, so that the name is free,
// and then removed. What can't be removed is logged; the owner of the log
// directory finds it by its name at the next start.
func (l *Log) Delete() error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	l.stop()
	from := l.dir.Path()
	id := strings.ReplaceAll(fmt.Sprintf("%x", [16]byte(kafka.NewTopicID())), "-", "")
	suffix := fmt.Sprintf("-%d.%s-delete", l.tp.Partition, id)
	topic := l.tp.Topic
	if most := deletedNameMax - len(suffix); len(topic) > most {
		topic = topic[:most]
	}
	to := filepath.Join(filepath.Dir(from), topic+suffix)
	err := l.fs.Rename(from, to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l.storageError(fmt.Errorf("delete log: %w", err))
	}
	l.dir.Moved(to)
	for _, s := range l.list() {
		s.CloseFile()
	}
	l.producers.Reset()
	if err := l.fs.RemoveAll(to); err != nil {
		l.log.Warn("deleted log was not removed from disk", "partition", l.tp.String(), "dir", to, "err", err)
	}
	return nil
}
