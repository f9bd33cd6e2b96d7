package partition

import (
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/logdir"
)

// Replace puts a copy of the log, in another directory, in the log's place: appends,
// fetches and everything else go on there. rest is called when nothing is appended any
// more: it copies what is missing of the log that it is given, or refuses, and then
// nothing has changed. ErrClosed: the partition is gone.
//
// The old log stays on the disk, and who reads it is not disturbed, until remove is
// called. That may be done when the copy is durable under its new name: until then a
// power failure may leave the old one as the only one that is whole.
//
// It holds appends up for as long as rest takes, and a rename. A partition that is deleted
// removes the old log itself, if remove was not called: another partition of its name may
// have the folder from then on. Until the old log is gone the partition does not move
// again (ErrLeaving).
func (p *Partition) Replace(copied *commitlog.Log, dir *logdir.Dir, rest func(from *commitlog.Log) error) (remove func() error, err error) {
	old, err := p.replace(copied, dir, rest)
	if err != nil {
		return nil, fmt.Errorf("%s: move to %s: %w", p.tp, dir.Path, err)
	}
	copied.SetConfig(p.config.Load().Log)
	if p.waiting.Load() > 0 { // who waits for the disk waits for this one now
		p.Flush()
		p.release() // it may have failed before it knew of the partition
	}
	if start := old.log.StartOffset(); start > copied.StartOffset() {
		if err := p.at().withReserve(func() error { return copied.SetStartOffset(start) }); err != nil {
			p.at().failed("set the start after a move", err)
		}
	}
	return old.remove, nil
}

// replace is the part of Replace that nothing may be appended in.
func (p *Partition) replace(copied *commitlog.Log, dir *logdir.Dir, rest func(from *commitlog.Log) error) (*home, error) {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.at()
	switch {
	case p.gone:
		return nil, commitlog.ErrClosed
	case p.leaving.Load() != nil:
		return nil, ErrLeaving
	}
	if err := rest(old.log); err != nil {
		return nil, err
	}
	if err := copied.TakePlace(old.log, dir.PartitionPath(p.tp)); err != nil {
		return nil, err
	}
	next := newHome(p, dir, copied)
	p.leaving.Store(old)
	p.home.Store(next)
	dir.Add(next)
	return old, nil
}

// remove ends a home that the partition has left: when everybody was answered who
// waits for a flush there, the log is deleted. The first call does it, and any other
// waits for that; it is over before another partition gets the folder's name.
func (h *home) remove() (err error) {
	h.removed.Do(func() {
		var last Flush
		last.Begin()
		h.dir.Syncer.Wait(&h.pending, h.log.EndOffset(), &last)
		_ = last.Wait() // it goes away, whatever the disk says
		h.dir.Remove(h.p.tp)
		err = h.withReserve(h.log.Delete)
		h.p.leaving.Store(nil)
	})
	return err
}
