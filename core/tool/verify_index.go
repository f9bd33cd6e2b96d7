package tool

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// companionLog is the log that an index belongs to.
func companionLog(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".index"), ".timeindex") + ".log"
}

// indexInterval is the default of index.interval.bytes: a log without more than
// this needs no index entry.
const indexInterval = 4096

// indexFileCheck is what both index checks share: the entries of the file, one
// ahead. A file that does not exist has none, which is no damage: readers rebuild it.
type indexFileCheck struct {
	v       *verifier
	name    string
	base    kafka.Offset
	entries *entries
	at      int64 // of the entry ahead
}

func (v *verifier) openIndexFile(name string, base kafka.Offset, size, logBytes int64) (indexFileCheck, error) {
	c := indexFileCheck{v: v, name: name, base: base}
	e, err := openEntries(v.fsys, name, size, true)
	if errors.Is(err, fs.ErrNotExist) {
		if logBytes > indexInterval {
			v.find(Note, name, NoPosition, kafka.NoOffset, "index is missing")
		}
		return c, nil
	}
	if err != nil {
		return c, err
	}
	v.report.Files++
	if e.odd() > 0 {
		v.find(Damage, name, e.total-e.odd(), kafka.NoOffset, "%d bytes at the end are no entry", e.odd())
	}
	c.entries = e
	return c, nil
}

func (c *indexFileCheck) close() error {
	if c.entries == nil {
		return nil
	}
	return c.entries.close()
}

// next gives the next entry's bytes, nil at the end.
func (c *indexFileCheck) next() ([]byte, error) {
	if c.entries == nil {
		return nil, nil
	}
	b, at, err := c.entries.next()
	if err == io.EOF {
		return nil, nil
	}
	c.at = at
	return b, err
}

// indexCheck walks an offset index in step with the batches of its log.
type indexCheck struct {
	indexFileCheck
	ahead  *indexEntry
	before indexEntry
}

func (v *verifier) openIndex(log string, base kafka.Offset, logBytes int64) (*indexCheck, error) {
	f, err := v.openIndexFile(companion(log, ".index"), base, indexEntrySize, logBytes)
	if err != nil {
		return nil, err
	}
	c := &indexCheck{indexFileCheck: f, before: indexEntry{offset: base - 1, position: -1}}
	if err := c.advance(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// advance reads the entry ahead and compares it with the one before.
func (c *indexCheck) advance() error {
	b, err := c.next()
	c.ahead = nil
	if err != nil || b == nil {
		return err
	}
	e := parseIndexEntry(c.base, b)
	if e.offset <= c.before.offset || e.position <= c.before.position {
		c.v.find(Damage, c.name, c.at, e.offset, "entry (offset %d, position %d) does not come after (offset %d, position %d)",
			e.offset, e.position, c.before.offset, c.before.position)
	}
	c.before, c.ahead = e, &e
	return nil
}

// batch takes the batch at a position of the log. Its offsets are NoOffset when it
// is damaged.
func (c *indexCheck) batch(at int64, base, last kafka.Offset) error {
	for c.ahead != nil && c.ahead.position <= at {
		e := *c.ahead
		switch {
		case e.position < at:
			c.v.find(Damage, c.name, c.at, e.offset, "position %d is not the start of a batch", e.position)
		case last == kafka.NoOffset:
		case e.offset < base:
			c.v.find(Damage, c.name, c.at, e.offset, "batch at position %d starts with offset %d, after the entry's", at, base)
		case e.offset != last:
			c.v.find(Note, c.name, c.at, e.offset, "batch at position %d ends with offset %d, not the entry's", at, last)
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

// finish reports entries behind the last batch.
func (c *indexCheck) finish() error {
	for c.ahead != nil {
		c.v.find(Damage, c.name, c.at, c.ahead.offset, "position %d is behind the last readable batch", c.ahead.position)
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

// timeCheck walks a time index in step with the batches of its log.
type timeCheck struct {
	indexFileCheck
	ahead  *timeEntry
	before timeEntry
	newest int64        // timestamp of the batches so far
	last   kafka.Offset // of the batches so far
}

func (v *verifier) openTimes(log string, base kafka.Offset, logBytes int64) (*timeCheck, error) {
	f, err := v.openIndexFile(companion(log, ".timeindex"), base, timeIndexEntrySize, logBytes)
	if err != nil {
		return nil, err
	}
	c := &timeCheck{indexFileCheck: f, newest: record.NoTimestamp, last: base - 1,
		before: timeEntry{timestamp: record.NoTimestamp - 1, offset: base - 1}}
	if err := c.advance(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *timeCheck) advance() error {
	b, err := c.next()
	c.ahead = nil
	if err != nil || b == nil {
		return err
	}
	e := parseTimeEntry(c.base, b)
	if e.timestamp < c.before.timestamp || e.offset < c.before.offset {
		c.v.find(Damage, c.name, c.at, e.offset, "entry (timestamp %d, offset %d) does not come after (timestamp %d, offset %d)",
			e.timestamp, e.offset, c.before.timestamp, c.before.offset)
	}
	c.before, c.ahead = e, &e
	return nil
}

// batch takes the next good batch of the log.
func (c *timeCheck) batch(last kafka.Offset, maxTimestamp int64) error {
	c.newest, c.last = max(c.newest, maxTimestamp), last
	for c.ahead != nil && c.ahead.offset <= last {
		if e := *c.ahead; c.newest != e.timestamp && e.offset == last || c.newest > e.timestamp {
			c.v.find(Damage, c.name, c.at, e.offset, "timestamp is %d, the latest up to the offset is %d", e.timestamp, c.newest)
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

// finish reports entries behind the last batch.
func (c *timeCheck) finish() error {
	for c.ahead != nil {
		c.v.find(Damage, c.name, c.at, c.ahead.offset, "entry is behind offset %d, the last readable one", c.last)
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}
