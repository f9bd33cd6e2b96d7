package logdir

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vfs"
)

// DefaultCheckpointInterval is how often changed offsets are checkpointed.
const DefaultCheckpointInterval = 5 * time.Second

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
	// OnFull is told when a directory became full, and from time to time while it is;
	// OnRoom when it is so no longer. They must not block. See Dir.Full.
	OnFull, OnRoom func(*Dir)
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
	onFull    func(*Dir)
	onRoom    func(*Dir)
	dirs      []*Dir
	found     map[kafka.TopicPartition]*Dir
	twins     map[kafka.TopicPartition][]*Dir // found in more than one directory
	futures   []Future
	deleted   []string // left by an earlier deletion

	// Recovery is how far the opening of the logs has come.
	Recovery Recovery

	offlineDirs *metrics.Gauge
	fullDirs    *metrics.Gauge
	handleLimit *metrics.Counter

	checkpoint sync.Mutex // one writer of checkpoint files
	encoder    encoder    // guarded by checkpoint
	ticks      int        // guarded by checkpoint

	mu        sync.Mutex
	timer     clock.Timer
	closed    bool
	preferred map[kafka.TopicPartition]*Dir // for logs that are not there yet; guarded by mu
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
	if _, err := s.emptiest(); err != nil {
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
		interval: o.CheckpointInterval, reserve: o.ReserveBytes, onOffline: o.OnOffline, onFull: o.OnFull, onRoom: o.OnRoom,
		found: map[kafka.TopicPartition]*Dir{}, twins: map[kafka.TopicPartition][]*Dir{},
		preferred:   map[kafka.TopicPartition]*Dir{},
		offlineDirs: o.Metrics.Gauge("mortise_logdir_offline_dirs", "Log directories that are offline since an I/O error."),
		fullDirs:    o.Metrics.Gauge("mortise_logdir_full_dirs", "Log directories without room, of which other brokers lead what they can."),
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
	d := &Dir{Path: path.Clean(p), set: s, members: newMembers()}
	reg := o.Metrics
	if reg == nil {
		reg = metrics.NewRegistry()
	}
	d.Syncer = &Syncer{
		clock: s.clock, check: d.Offline, max: o.SyncsPerDir,
		fail:  d.syncFailed,
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
	if err := vfs.MakeDir(s.fs, d.Path); err != nil {
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
	if d.Clean, d.CleanEpoch, err = takeCleanShutdown(s.fs, d.Path); err != nil {
		return err
	}
	d.restoreReserve(s.reserve)
	if err := s.scan(d); err != nil {
		return err
	}
	d.readCheckpoints()
	return nil
}

// sinceStart is monotonic time.
func (s *Set) sinceStart() time.Duration { return s.clock.Now().Sub(s.start) }
