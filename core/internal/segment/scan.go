package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// scanner walks the headers of the batches in a file, from pos to end, reading
// scanBytes at a time. It lives on the stack of its user.
type scanner struct {
	cache *Files
	file  vfs.File
	pos   int64 // of the present batch
	end   int64
	buf   *[]byte
	at    int64 // position of buf in the file
	n     int   // bytes in buf
	size  int64 // of the present batch
}

func (c *Files) scan(f vfs.File, pos, end int64) scanner {
	return scanner{cache: c, file: f, pos: pos, end: end, buf: c.scanBuffer()}
}

func (sc *scanner) close() { sc.cache.scans.Put(sc.buf) }

// head is the header of the batch at pos, nil at the end. The batch is complete.
func (sc *scanner) head() (record.Batch, error) {
	if sc.pos >= sc.end {
		return nil, nil
	}
	if sc.pos < sc.at || sc.pos+record.HeaderSize > sc.at+int64(sc.n) {
		if err := sc.fill(); err != nil {
			return nil, err
		}
	}
	h := record.Batch((*sc.buf)[sc.pos-sc.at:][:record.HeaderSize])
	n, err := record.Size(h)
	if err != nil {
		return nil, corrupt(sc.file.Name(), sc.pos, "%v", err)
	}
	if h.Magic() != record.Magic {
		return nil, corrupt(sc.file.Name(), sc.pos, "magic is %d, want %d", h.Magic(), record.Magic)
	}
	if sc.pos+int64(n) > sc.end {
		return nil, corrupt(sc.file.Name(), sc.pos, "batch of %d bytes, %d are left", n, sc.end-sc.pos)
	}
	sc.size = int64(n)
	return h, nil
}

// skip goes to the next batch; head was called before.
func (sc *scanner) skip() { sc.pos += sc.size }

// seek goes to the batch that holds target, or the first one after it; nil if all
// end before.
func (sc *scanner) seek(target kafka.Offset) (record.Batch, error) {
	for {
		head, err := sc.head()
		if err != nil || head == nil || head.LastOffset() >= target {
			return head, err
		}
		sc.skip()
	}
}

// toEntry goes to an index entry, or to least if that is further on. An entry that
// does not name the batch that is there is damage which no checksum tells: the
// walk begins at least then, for a wrong entry would skip records silently. least
// is a batch boundary at or before what is looked for.
//
// Cost: none beyond the walk that follows, which reads the same header.
func (s *Segment) toEntry(sc *scanner, e entry, least int64) {
	sc.pos = least
	if !e.ok || e.pos <= least {
		return
	}
	sc.pos = e.pos
	if head, err := sc.head(); err == nil && head != nil && s.rel(head.LastOffset()) == e.last {
		return
	}
	s.dir.Log.Warn("index entry does not fit its data, reading without the index", "file", s.Path(Index), "offset", int64(s.base)+e.last, "position", e.pos)
	sc.pos = least
}

// fill reads a header and what follows it.
func (sc *scanner) fill() error {
	want := min(sc.end-sc.pos, int64(len(*sc.buf)))
	sc.cache.metrics.headerReads.Add(1)
	n, err := sc.file.ReadAt((*sc.buf)[:want], sc.pos)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s at %d: %w", sc.file.Name(), sc.pos, err)
	}
	if n < record.HeaderSize {
		return corrupt(sc.file.Name(), sc.pos, "%d bytes are left, a header has %d", n, record.HeaderSize)
	}
	sc.at, sc.n = sc.pos, n
	return nil
}

// readBatch reads the whole batch at pos, whose size head gave.
func (sc *scanner) readBatch(dst []byte) (record.Batch, error) {
	if int64(cap(dst)) < sc.size {
		dst = make([]byte, sc.size)
	}
	dst = dst[:sc.size]
	n, err := sc.file.ReadAt(dst, sc.pos)
	if n < len(dst) && err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s at %d: %w", sc.file.Name(), sc.pos, err)
	}
	if n < len(dst) {
		return nil, corrupt(sc.file.Name(), sc.pos, "batch of %d bytes, read %d", len(dst), n)
	}
	return record.Batch(dst), nil
}
