package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

// leftover tells whether a file is one that tidy removes or renames.
func leftover(e fs.DirEntry) bool {
	_, _, mark, ok := segment.ParseName(e.Name())
	return ok && mark != "" || strings.HasPrefix(e.Name(), epochFile+".") || strings.HasSuffix(e.Name(), ".tmp") ||
		strings.HasSuffix(e.Name(), segment.Deleted)
}

// tidy removes what is marked for deletion or was not finished, and completes swaps,
// as Kafka's LogLoader does: a swap counts when nothing at or above its base is
// still being written.
func (l *Log) tidy(entries []fs.DirEntry) error {
	least := kafka.Offset(math.MaxInt64)
	for _, e := range entries {
		if base, _, mark, ok := segment.ParseName(e.Name()); ok && mark == segment.Cleaned {
			least = min(least, base)
		}
	}
	var swaps, rest []fs.DirEntry
	for _, e := range entries {
		switch base, _, mark, ok := segment.ParseName(e.Name()); {
		case ok && mark == segment.Swap && base < least:
			swaps = append(swaps, e)
		case ok && mark == segment.Swap: // first, and now: without the file that is being written it would count
			if err := l.fs.Remove(l.dir.Path() + "/" + e.Name()); err != nil {
				return err
			}
		case leftover(e):
			rest = append(rest, e)
		}
	}
	for _, e := range rest {
		l.removeLater(0, l.dir.Path()+"/"+e.Name())
	}
	if len(swaps) == 0 {
		return nil
	}
	if err := l.finishSwaps(swaps, entries); err != nil {
		return fmt.Errorf("finish swap: %w", err)
	}
	return nil
}

// finishSwaps puts complete files in the place of what they replace. The files that
// a swap's data reaches over go first, durably: beside it they would be a second
// copy of its offsets. Files of the swap's own name are overwritten.
func (l *Log) finishSwaps(swaps, entries []fs.DirEntry) error {
	for _, e := range swaps {
		base, ext, _, _ := segment.ParseName(e.Name())
		if ext != segment.Log {
			continue
		}
		next, err := l.swapEnd(base, e)
		if err != nil {
			return err
		}
		if err := l.removeBetween(entries, base, next); err != nil {
			return err
		}
	}
	if err := l.fs.SyncDir(l.dir.Path()); err != nil {
		return err
	}
	for _, e := range swaps {
		base, ext, _, _ := segment.ParseName(e.Name())
		to := l.dir.Path() + "/" + segment.Name(base, ext)
		if err := l.fs.Rename(l.dir.Path()+"/"+e.Name(), to); err != nil {
			return err
		}
		l.log.Info("finished a swap that a crash interrupted", "file", to)
	}
	return l.fs.SyncDir(l.dir.Path()) // before the name is used for another swap
}

// swapEnd is the offset after the last batch of a swapped file.
func (l *Log) swapEnd(base kafka.Offset, e fs.DirEntry) (kafka.Offset, error) {
	info, err := e.Info()
	if err != nil {
		return 0, err
	}
	s := segment.Swapped(l.dir, base, info.Size())
	defer s.CloseFile()
	if err := s.Load(); err != nil {
		return 0, err
	}
	return s.Next(), nil
}

// removeBetween removes the segments that begin behind base and below next.
func (l *Log) removeBetween(entries []fs.DirEntry, base, next kafka.Offset) error {
	for _, e := range entries {
		at, ext, mark, ok := segment.ParseName(e.Name())
		if !ok || mark != "" || ext == segment.Snapshot || at <= base || at >= next {
			continue
		}
		if err := l.fs.Remove(l.dir.Path() + "/" + e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
