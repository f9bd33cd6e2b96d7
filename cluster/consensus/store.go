package consensus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"

	"github.com/mortisemq/mortise/core/vfs"
)

// Sizes of the control directory.
const (
	segmentBytes  = 4 << 20 // preallocated; a longer entry makes its segment longer
	snapshotsKept = 2
)

// reachedFile holds the index that was applied at the last orderly end.
const reachedFile = "reached"

// store is where a group keeps its log, votes and snapshots.
type store struct {
	dir       string // empty: memory
	logs      raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	close     func() error
}

// Memory is a control directory in memory, for tests.
type Memory struct {
	log       *raft.InmemStore
	snapshots *raft.InmemSnapshotStore
}

// NewMemory is an empty one.
func NewMemory() *Memory {
	return &Memory{raft.NewInmemStore(), raft.NewInmemSnapshotStore()}
}

// openStore opens the control directory, or memory when there is none.
func openStore(o *Options) (*store, error) {
	if o.Dir != "" {
		return openDir(o.Dir, newRaftLogger(o.Log))
	}
	m := o.Memory
	if m == nil {
		m = NewMemory()
	}
	return &store{logs: m.log, stable: m.log, snapshots: m.snapshots, close: func() error { return nil }}, nil
}

// openDir opens a control directory.
func openDir(dir string, log hclog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("control directory: %w", err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, log)
	if err != nil {
		return nil, fmt.Errorf("control directory %s: %w", dir, err)
	}
	// The log does not close the store of its metadata, so that is done here;
	// otherwise its file lock would stay until the process ends.
	if err := checkVotes(dir); err != nil {
		return nil, openError(dir, err)
	}
	votes := &metadb.BoltMetaDB{}
	log1, err := guarded(func() (*wal.WAL, error) {
		return wal.Open(dir, wal.WithSegmentSize(segmentBytes), wal.WithLogger(log), wal.WithMetaStore(votes), wal.WithSegmentFiler(newSegments(dir)))
	})
	switch {
	case errors.Is(err, errPanicked):
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, filepath.Join(dir, metadb.FileName), err)
	case err != nil:
		return nil, errors.Join(openError(dir, err), votes.Close())
	}
	return &store{dir: dir, logs: log1, stable: log1, snapshots: snapshots,
		close: func() error { return errors.Join(log1.Close(), votes.Close()) }}, nil
}

// openError names the file that an error of the log is about. Only the last
// segment and the metadata are read when a log is opened.
func openError(dir string, err error) error {
	file := filepath.Join(dir, metadb.FileName)
	if segments := segmentFiles(dir); len(segments) > 0 && !strings.Contains(err.Error(), metadb.FileName) {
		file = filepath.Join(dir, segments[len(segments)-1])
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("control log %s: %w", file, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, file, err)
}

// segmentFiles are the files of the log in the order of their first entries.
func segmentFiles(dir string) []string {
	entries, err := os.ReadDir(dir) // sorted; names start with the index in 20 digits
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".wal") {
			names = append(names, e.Name())
		}
	}
	return names
}

// fileOf is the segment that holds an entry, for error messages.
func (s *store) fileOf(index uint64) string {
	file := s.dir
	for _, name := range segmentFiles(s.dir) {
		first, _, _ := strings.Cut(name, "-")
		if base, err := strconv.ParseUint(first, 10, 64); err == nil && base <= index {
			file = filepath.Join(s.dir, name)
		}
	}
	return file
}

// members are the nodes that the store names last, whether that is decided or not;
// none: it is empty. What is wrong with the log itself is told by the replay.
func (s *store) members() (raft.Configuration, error) {
	var c raft.Configuration
	found, err := s.snapshots.List()
	if err != nil {
		return c, fmt.Errorf("%w: snapshots in %s: %w", ErrCorrupt, s.dir, err)
	}
	from := uint64(1)
	if len(found) > 0 {
		c, from = found[0].Configuration, found[0].Index+1
	}
	first, err1 := s.logs.FirstIndex()
	last, err2 := s.logs.LastIndex()
	if err := errors.Join(err1, err2); err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrCorrupt, s.dir, err)
	}
	for index := max(from, first); index <= last && first > 0; index++ {
		var entry raft.Log
		if err := s.logs.GetLog(index, &entry); err != nil {
			return c, fmt.Errorf("%w: %s: entry %d: %w", ErrCorrupt, s.fileOf(index), index, err)
		}
		if entry.Type != raft.LogConfiguration {
			continue
		}
		if c, err = guarded(func() (raft.Configuration, error) { return raft.DecodeConfiguration(entry.Data), nil }); err != nil {
			return c, fmt.Errorf("%w: %s: entry %d: members: %w", ErrCorrupt, s.fileOf(index), index, err)
		}
	}
	return c, nil
}

// reached is the index that the last orderly end noted; 0: none.
func (s *store) reached() (uint64, error) {
	if s.dir == "" {
		return 0, nil
	}
	b, err := os.ReadFile(filepath.Join(s.dir, reachedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("control directory: %w", err)
	}
	index, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, filepath.Join(s.dir, reachedFile), err)
	}
	return index, nil
}

// noteReached writes the index down. An older one is right too, but a file without one
// would stop the next start: a power cut must not leave that.
func (s *store) noteReached(index uint64) error {
	if s.dir == "" {
		return nil
	}
	if err := vfs.WriteFileAtomic(vfs.OS(), filepath.Join(s.dir, reachedFile), []byte(strconv.FormatUint(index, 10)+"\n")); err != nil {
		return fmt.Errorf("control directory: %w", err)
	}
	return nil
}
