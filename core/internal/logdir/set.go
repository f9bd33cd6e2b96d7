package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vfs"
)

// DefaultCheckpointInterval is how often changed offsets are checkpointed.
const DefaultCheckpointInterval = 5 * time.Second

// sealedEvery is how many checkpoint intervals lie between two rounds that flush
// sealed segments, so that recovery after a crash need not read them.
const sealedEvery = 12

// Options say which directories to open and for whom.
type Options struct {
	FS        vfs.FS
	Dirs      []string // at least one
	ClusterID string
	NodeID    kafka.BrokerID
	Clock     clock.Clock       // nil: the system's
	Log       *slog.Logger      // nil: discarded
	Metrics   *metrics.Registry // nil: a private one

	CheckpointInterval time.Duration // 0: DefaultCheckpointInterval
	ReserveBytes       int64         // per directory; 0: DefaultReserveBytes; negative: none
	SyncsPerDir        int           // fdatasyncs at once; 0: 4
	// OnOffline is told when a directory went offline; it must not block.
	OnOffline func(*Dir)
}

// Set is the broker's log directories. It is safe for concurrent use.
type Set struct {
	fs        vfs.FS
	clock     clock.Clock
	log       *slog.Logger
	start     time.Time
	interval  time.Duration
	reserve   int64
	onOffline func(*Dir)
	dirs      []*Dir
	found     map[kafka.TopicPartition]*Dir
	deleted   []string // left by an earlier deletion

	// Recovery is how far the opening of the logs has come.
	Recovery Recovery

	offlineDirs *metrics.Gauge
	handleLimit *metrics.Counter

	checkpoint sync.Mutex // one writer of checkpoint files
	encoder    encoder    // guarded by checkpoint
	ticks      int        // guarded by checkpoint

	mu     sync.Mutex
	timer  clock.Timer
	closed bool
}

// Recovery counts logs and bytes while the broker starts. Readers may look at
// any time.
type Recovery struct {
	LogsTotal, LogsDone   atomic.Int64
	BytesTotal, BytesDone atomic.Int64
}

// Open locks the directories, makes those that are missing, checks whose they
// are and reads their checkpoints. It opens no log. A directory with an I/O error
// is offline from the start; Open returns an error when none is left, when one is
// locked (*vfs.LockedError) or somebody else's (ErrIdentity).
func Open(o Options) (*Set, error) {
	if len(o.Dirs) == 0 {
		return nil, ErrNoDirectory
	}
	s := newSet(o)
	for _, p := range o.Dirs {
		d := s.newDir(p, o)
		s.dirs = append(s.dirs, d)
		err := s.openDir(d, Properties{ClusterID: o.ClusterID, NodeID: o.NodeID})
		var locked *vfs.LockedError
		switch {
		case err == nil:
		case errors.As(err, &locked), errors.Is(err, ErrIdentity), errors.Is(err, errMalformed):
			s.unlock()
			return nil, fmt.Errorf("log directory %s: %w", p, err)
		default:
			d.takeOffline("open", err)
		}
	}
	if _, err := s.Place(); err != nil {
		errs := []error{err}
		for _, d := range s.dirs {
			errs = append(errs, d.Offline())
		}
		s.unlock()
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// newSet applies the defaults.
func newSet(o Options) *Set {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	s := &Set{
		fs: o.FS, clock: o.Clock, log: o.Log, start: o.Clock.Now(),
		interval: o.CheckpointInterval, reserve: o.ReserveBytes, onOffline: o.OnOffline,
		found:       map[kafka.TopicPartition]*Dir{},
		offlineDirs: o.Metrics.Gauge("mortise_logdir_offline_dirs", "Log directories that are offline since an I/O error."),
		handleLimit: o.Metrics.Counter("mortise_logdir_file_handle_errors_total", "Opens that failed because the process has no file handle left."),
	}
	if s.interval == 0 {
		s.interval = DefaultCheckpointInterval
	}
	if s.reserve == 0 {
		s.reserve = DefaultReserveBytes
	}
	return s
}

// newDir makes a directory that is not open yet.
func (s *Set) newDir(p string, o Options) *Dir {
	d := &Dir{
		Path: path.Clean(p), set: s,
		replicas: map[kafka.TopicPartition]Replica{}, kept: map[kafka.TopicPartition]struct{}{},
	}
	reg := o.Metrics
	if reg == nil {
		reg = metrics.NewRegistry()
	}
	d.Syncer = &Syncer{
		clock: s.clock, check: d.Offline, max: o.SyncsPerDir,
		fail:  d.Failed,
		syncs: reg.Counter("mortise_logdir_syncs_total", "Flushes of logs that producers or flush.ms asked for.", "dir", d.Path),
		waits: reg.Counter("mortise_logdir_sync_waits_total", "Appends that waited for a flush.", "dir", d.Path),
	}
	if d.Syncer.max == 0 {
		d.Syncer.max = defaultSyncs
	}
	return d
}

// openDir does the work of Open for one directory.
func (s *Set) openDir(d *Dir, want Properties) error {
	if err := s.fs.MkdirAll(d.Path, 0o755); err != nil {
		return err
	}
	lock, err := s.fs.Lock(path.Join(d.Path, ".lock"), strconv.AppendInt(nil, int64(os.Getpid()), 10))
	if err != nil {
		return err
	}
	d.lock = lock
	props, err := ensureProperties(s.fs, d.Path, want, s.clock.Now())
	if err != nil {
		return err
	}
	d.ID = props.DirectoryID
	if d.Clean, err = takeCleanShutdown(s.fs, d.Path); err != nil {
		return err
	}
	d.readCheckpoints()
	d.restoreReserve(s.reserve)
	return s.scan(d)
}

// scan lists the partition directories.
func (s *Set) scan(d *Dir) error {
	entries, err := s.fs.ReadDir(d.Path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strayName.MatchString(name) {
			continue
		}
		if deletedName.MatchString(name) {
			s.deleted = append(s.deleted, path.Join(d.Path, name))
			continue
		}
		tp, ok := parseName(name)
		if !ok {
			s.log.Warn("not a partition directory; left alone", "dir", d.Path, "name", name)
			continue
		}
		if first, twice := s.found[tp]; twice {
			s.log.Error("a partition is in two log directories; the first is used", "partition", tp.String(), "first", first.Path, "second", d.Path)
			continue
		}
		s.found[tp] = d
	}
	return nil
}

// Dirs are all directories, also those that are offline.
func (s *Set) Dirs() []*Dir { return s.dirs }

// Found are the partition directories that were there at the start. The caller
// must not change the map.
func (s *Set) Found() map[kafka.TopicPartition]*Dir { return s.found }

// TopicIDOnDisk reads the topic id that the partition directory of tp carries;
// NoTopicID when it carries none.
func (s *Set) TopicIDOnDisk(d *Dir, tp kafka.TopicPartition) kafka.TopicID {
	return readTopicID(s.fs, d.PartitionPath(tp))
}

// RemoveDeleted removes what earlier deletions left. A directory that can't be
// removed is reported and tried again at the next start.
func (s *Set) RemoveDeleted() {
	for _, name := range s.deleted {
		if err := s.fs.RemoveAll(name); err != nil {
			s.log.Warn("a deleted partition could not be removed; it is tried again at the next start", "path", name, "err", err)
		}
	}
	s.deleted = nil
}

// SetAside renames a partition directory that belongs to no partition of this
// broker to TOPIC-PARTITION.UUID-stray. Nothing in it is deleted.
func (s *Set) SetAside(d *Dir, tp kafka.TopicPartition) (string, error) {
	id := kafka.NewTopicID()
	to := fmt.Sprintf("%s.%x-stray", d.PartitionPath(tp), id[:])
	if err := s.fs.Rename(d.PartitionPath(tp), to); err != nil {
		return "", err
	}
	return to, s.fs.SyncDir(d.Path)
}

// Place chooses the directory for a new log: the one with the fewest logs.
func (s *Set) Place() (*Dir, error) {
	var best *Dir
	least := 0
	for _, d := range s.dirs {
		if d.Offline() != nil {
			continue
		}
		if n := d.count(); best == nil || n < least {
			best, least = d, n
		}
	}
	if best == nil {
		return nil, ErrNoDirectory
	}
	return best, nil
}

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

// Close ends the group commit, writes the checkpoints, marks the directories as
// cleanly shut down if clean, and unlocks them. The logs must have been closed.
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
		if err == nil {
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

// sinceStart is monotonic time.
func (s *Set) sinceStart() time.Duration { return s.clock.Now().Sub(s.start) }

// isHandleLimit reports whether the process ran out of file handles.
func isHandleLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// isNotExist reports whether a file is missing.
func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
