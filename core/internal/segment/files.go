package segment

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/mortisemq/mortise/core/internal/sendfile"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vfs"
)

const (
	// DefaultOpenFiles is how many files a cache keeps open unless it is told
	// otherwise.
	DefaultOpenFiles = 4096
	// copyBytes is the size of the buffers for ranges that are copied.
	copyBytes = 64 << 10
	// scanBytes is how much is read to look at batch headers.
	scanBytes = 4 << 10
)

// Files is a cache of open files for many logs. What was used least is closed
// when there are too many, by the clock algorithm: using a file costs two atomic
// operations and no lock. Files in use stay open beyond the limit. It is safe for
// concurrent use.
type Files struct {
	limit int

	mu     sync.Mutex
	cached []*handle // guarded by mu
	hand   int       // guarded by mu

	ranges  sync.Pool // *Range
	copies  sync.Pool // *[]byte of copyBytes
	scans   sync.Pool // *[]byte of scanBytes
	sender  sendfile.Sender
	metrics fileMetrics
}

// fileMetrics are the numbers of a cache.
type fileMetrics struct {
	open                        *metrics.Gauge
	opened, evicted, noFile     *metrics.Counter
	sentDirect                  *metrics.Counter
	sentSmall, sentNoSocket     *metrics.Counter
	sentNoFile, sentIntoMemory  *metrics.Counter
	headerReads, indexesRebuilt *metrics.Counter
}

// NewFiles makes a cache that keeps at most limit files open (0:
// DefaultOpenFiles). A nil registry means private metrics.
func NewFiles(limit int, reg *metrics.Registry) *Files {
	if limit <= 0 {
		limit = DefaultOpenFiles
	}
	if reg == nil {
		reg = metrics.NewRegistry()
	}
	const sent, sentHelp = "mortise_segment_sent_bytes_total", "Bytes of log files sent, by path and the reason for it."
	return &Files{limit: limit, metrics: fileMetrics{
		open:           reg.Gauge("mortise_segment_open_files", "Log files that are open."),
		opened:         reg.Counter("mortise_segment_opened_files_total", "Log files opened."),
		evicted:        reg.Counter("mortise_segment_evicted_files_total", "Log files closed because others were needed."),
		noFile:         reg.Counter("mortise_segment_out_of_files_total", "Opens that failed for want of a file descriptor."),
		sentDirect:     reg.Counter(sent, sentHelp, "path", "sendfile", "reason", "large"),
		sentSmall:      reg.Counter(sent, sentHelp, "path", "copy", "reason", "small"),
		sentNoSocket:   reg.Counter(sent, sentHelp, "path", "copy", "reason", "no_socket"),
		sentNoFile:     reg.Counter(sent, sentHelp, "path", "copy", "reason", "no_file"),
		sentIntoMemory: reg.Counter(sent, sentHelp, "path", "copy", "reason", "memory"),
		headerReads:    reg.Counter("mortise_segment_header_reads_total", "Reads of batch headers to find offsets in log files."),
		indexesRebuilt: reg.Counter("mortise_segment_rebuilt_indexes_total", "Indexes that were built again from data."),
	}}
}

// Limit is the number of files that stay open.
func (c *Files) Limit() int { return c.limit }

// Open is the number of log files that are open now.
func (c *Files) Open() int { return int(c.metrics.open.Load()) }

// handle is an open file with its users counted. The cache is one of them.
type handle struct {
	file  vfs.File
	cache *Files
	owner *Segment
	refs  atomic.Int32
	used  atomic.Bool // since the clock's hand passed
	at    int         // place in cache.cached, -1 outside; guarded by cache.mu
}

// ref takes a reference unless the file is closed already.
func (h *handle) ref() bool {
	for {
		n := h.refs.Load()
		if n == 0 {
			return false
		}
		if h.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// unref gives a reference back; the last one closes the file. What was written
// is in the page cache by then, so a failing close loses nothing that an fsync
// would not report.
func (h *handle) unref() {
	if h.refs.Add(-1) == 0 {
		h.cache.metrics.open.Add(-1)
		_ = h.file.Close()
	}
}

// openFile opens a file, giving up others when descriptors ran out.
func (c *Files) openFile(fsys vfs.FS, name string, flag int) (vfs.File, error) {
	f, err := fsys.OpenFile(name, flag, 0o644)
	if isOutOfFiles(err) {
		c.shrink(c.limit/4 + 1)
		f, err = fsys.OpenFile(name, flag, 0o644)
	}
	if isOutOfFiles(err) {
		c.metrics.noFile.Add(1)
		return nil, fmt.Errorf("%w: %w", ErrTooManyFiles, err)
	}
	return f, err
}

func isOutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// add puts a file into the cache and makes room for it.
func (c *Files) add(s *Segment, f vfs.File) *handle {
	h := &handle{file: f, cache: c, owner: s}
	h.refs.Store(2) // the cache and the caller
	h.used.Store(true)
	c.metrics.open.Add(1)
	c.metrics.opened.Add(1)
	c.mu.Lock()
	h.at = len(c.cached)
	c.cached = append(c.cached, h)
	s.handle.Store(h) // not before it has its place: forget goes by that
	over := len(c.cached) - c.limit
	c.mu.Unlock()
	if over > 0 {
		c.shrink(over)
	}
	return h
}

// shrink closes the n files that were used least lately.
func (c *Files) shrink(n int) {
	for range n {
		c.mu.Lock()
		h := c.victim()
		if h != nil {
			c.remove(h)
		}
		c.mu.Unlock()
		if h == nil {
			return
		}
		c.metrics.evicted.Add(1)
		h.owner.evicted(h)
		h.unref()
	}
}

// victim is the file under the hand that was not used since the hand's last
// visit. Two rounds find one for sure. Caller holds mu.
func (c *Files) victim() *handle {
	for range 2 * len(c.cached) {
		if c.hand >= len(c.cached) {
			c.hand = 0
		}
		h := c.cached[c.hand]
		if !h.used.Swap(false) {
			return h
		}
		c.hand++
	}
	if len(c.cached) == 0 {
		return nil
	}
	return c.cached[c.hand%len(c.cached)]
}

// remove takes h out of the cache. Caller holds mu and drops the reference after.
func (c *Files) remove(h *handle) {
	last := c.cached[len(c.cached)-1]
	c.cached[h.at], last.at = last, h.at
	c.cached[len(c.cached)-1] = nil
	c.cached = c.cached[:len(c.cached)-1]
	h.at = -1
}

// forget takes a segment's file out of the cache; who reads it goes on reading.
func (c *Files) forget(h *handle) {
	c.mu.Lock()
	held := h.at >= 0
	if held {
		c.remove(h)
	}
	c.mu.Unlock()
	if held {
		h.owner.handle.CompareAndSwap(h, nil)
		h.unref()
	}
}

// scanBuffer is a pooled buffer for looking at headers.
func (c *Files) scanBuffer() *[]byte { return pooled(&c.scans, scanBytes) }

func pooled(p *sync.Pool, n int) *[]byte {
	if b, ok := p.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, n)
	return &b
}
