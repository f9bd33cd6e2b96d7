package logdir

import (
	"errors"

	"github.com/mortisemq/mortise/core/kafka"
)

// sealedEvery is how many checkpoint intervals lie between two rounds that flush
// sealed segments, so that recovery after a crash need not read them.
const sealedEvery = 12

// Start begins the periodic checkpoints. Every log must have been added: what is
// missing is missing in the files.
func (s *Set) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.timer == nil {
		s.timer = s.clock.AfterFunc(s.interval, s.tick)
	}
}

// tick writes checkpoints and comes again.
func (s *Set) tick() {
	s.Checkpoint()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.timer.Reset(s.interval)
	}
}

// Checkpoint writes the files of the directories in which something changed.
func (s *Set) Checkpoint() {
	s.checkpoint.Lock()
	defer s.checkpoint.Unlock()
	if s.isClosed() {
		return // the directories may be another process's already
	}
	s.ticks++
	for _, d := range s.dirs {
		if d.Offline() != nil {
			continue
		}
		if s.ticks%sealedEvery == 0 {
			d.restoreReserve(s.reserve)
			for _, r := range d.Replicas() {
				r.FlushSealed()
			}
		}
		if !d.changed.Swap(false) {
			continue
		}
		if err := d.writeCheckpoints(&s.encoder); err != nil {
			d.changed.Store(true) // Failed has logged it
		}
	}
}

// Checkpoint writes the directory's files now. Whoever moved the end or the start
// of a log back (Truncate, TruncateFullyAndStartAt) calls it before the next append
// to that log: with the old values a crash would make damage of a torn tail, and a
// start offset behind the end makes the log give its data up.
func (d *Dir) Checkpoint() error {
	d.set.checkpoint.Lock()
	defer d.set.checkpoint.Unlock()
	if d.set.isClosed() {
		return ErrClosed
	}
	return d.writeCheckpoints(&d.set.encoder)
}

// Free makes sure that no file says anything about tp any more. It comes before a
// new log of that name is made: the offsets of an earlier one would make recovery
// refuse or drop the data of the new one.
func (d *Dir) Free(tp kafka.TopicPartition) error {
	if !d.members.isStale(tp) {
		return nil
	}
	d.set.checkpoint.Lock()
	defer d.set.checkpoint.Unlock()
	if d.set.isClosed() {
		return ErrClosed
	}
	if !d.members.isStale(tp) { // the first of many freed them all
		return nil
	}
	return d.writeCheckpoints(&d.set.encoder)
}

// isClosed reports whether Close was called.
func (s *Set) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close ends the group commit, writes the checkpoints, marks the directories as
// cleanly shut down if clean, and unlocks them. The logs must have been closed. A
// directory in which one did not close, or was never recovered, is not marked.
func (s *Set) Close(clean bool, epoch kafka.BrokerEpoch) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	var errs []error
	s.checkpoint.Lock()
	defer s.checkpoint.Unlock()
	for _, d := range s.dirs {
		d.Syncer.close()
		if d.Offline() != nil || !clean {
			continue
		}
		err := d.writeCheckpoints(&s.encoder)
		if err == nil && d.members.mayBeClean(d.Clean) {
			err = d.writeFile(CleanShutdownFile, cleanShutdown(epoch))
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.unlock())...)
}

// unlock releases all lock files.
func (s *Set) unlock() error {
	var errs []error
	for _, d := range s.dirs {
		if d.lock != nil {
			errs = append(errs, d.lock.Close())
			d.lock = nil
		}
	}
	return errors.Join(errs...)
}
