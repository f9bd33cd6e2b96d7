package commitlog

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// TakePlace makes the log, which is a copy of another one, take that one's place: it
// takes over the leader epochs, those without data too, and its folder gets the name
// to, beside the present one. Both must end at the same offset, else it is ErrChanged;
// the caller sees to it that nothing is appended to either meanwhile, and that nobody
// syncs the copy. The next Sync makes the name durable.
//
// Cost: the epochs' file without a sync, and a rename.
func (l *Log) TakePlace(of *Log, to string) error {
	return l.alone(func() error {
		if end, want := l.EndOffset(), of.EndOffset(); end != want {
			return fmt.Errorf("%s: the copy ends at %d, the log at %d: %w", l.tp, end, want, ErrChanged)
		}
		l.epochs.takeOver(&of.epochs)
		if err := l.writeEpochs(); err != nil {
			return err
		}
		if err := l.fs.Rename(l.dir.Path(), to); err != nil {
			return l.storageError(err)
		}
		l.dir.Moved(to)
		l.fresh, l.made = true, true
		return nil
	})
}

// takeOver makes the epochs those of another log.
func (c *epochCache) takeOver(from *epochCache) {
	from.mu.RLock()
	list := slices.Clone(from.list)
	from.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(list)
}

// CommonEnd is where a copy of the log, whose last record is of epoch, may go on: the
// end of what both have for certain, at most end (KIP-101).
func (l *Log) CommonEnd(epoch kafka.LeaderEpoch, end kafka.Offset) kafka.Offset {
	if _, known := l.EpochEnd(epoch); epoch >= 0 && known >= 0 {
		end = min(end, known)
	}
	return min(end, l.EndOffset())
}
