package commitlog

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

// files is what a partition's folder holds.
type files struct {
	logs             []logFile      // by base offset
	snapshots        []kafka.Offset // rising
	newest           fs.DirEntry    // the last of snapshots
	txns             map[kafka.Offset]bool
	metadata, epochs bool
}

type logFile struct {
	base kafka.Offset
	info fs.FileInfo
}

// listFiles reads the folder, makes it when it is missing, and tidies up what a
// crash left behind.
func (l *Log) listFiles(o *Options) (*files, error) {
	entries, err := l.fs.ReadDir(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		l.made = true
		return &files{}, l.fs.MkdirAll(o.Dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(entries, leftover) {
		if err := l.tidy(entries); err != nil {
			return nil, err
		}
		if entries, err = l.fs.ReadDir(o.Dir); err != nil {
			return nil, err
		}
	}
	f := &files{}
	for _, e := range entries {
		if err := f.add(e); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(f.logs, func(a, b logFile) int { return cmp.Compare(a.base, b.base) })
	slices.Sort(f.snapshots)
	return f, nil
}

// add sorts one file in.
func (f *files) add(e fs.DirEntry) error {
	switch e.Name() {
	case metadataFile:
		f.metadata = true
		return nil
	case epochFile:
		f.epochs = true
		return nil
	}
	base, ext, mark, ok := segment.ParseName(e.Name())
	if !ok || mark != "" {
		return nil
	}
	switch ext {
	case segment.Log:
		info, err := e.Info()
		if err != nil {
			return err
		}
		f.logs = append(f.logs, logFile{base, info})
	case segment.Snapshot:
		f.snapshots = append(f.snapshots, base)
		if base >= slices.Max(f.snapshots) {
			f.newest = e
		}
	case segment.TxnIndex:
		if f.txns == nil {
			f.txns = map[kafka.Offset]bool{}
		}
		f.txns[base] = true
	}
	return nil
}

// cleanEnd is where a log that was closed cleanly ends, as the name of its last
// snapshot tells, if that was written after the data; NoOffset otherwise. Load
// compares it with the data when they are first used.
func (f *files) cleanEnd(last logFile) kafka.Offset {
	n := len(f.snapshots)
	if n == 0 || f.snapshots[n-1] <= last.base {
		return kafka.NoOffset
	}
	if info, err := f.newest.Info(); err != nil || info.ModTime().Before(last.info.ModTime()) {
		return kafka.NoOffset
	}
	return f.snapshots[n-1]
}
