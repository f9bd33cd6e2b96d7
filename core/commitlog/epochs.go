package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

const (
	epochFile = "leader-epoch-checkpoint"
	// epochFileMax bounds what is read of it: an epoch is a leader change.
	epochFileMax = 16 << 20
)

// epochStart says where the records of a leader epoch begin.
type epochStart struct {
	epoch kafka.LeaderEpoch
	start kafka.Offset
}

// epochCache is the log's history of leader epochs (KIP-101), as Kafka's
// LeaderEpochFileCache: epochs and start offsets both rise. It is safe for
// concurrent use.
type epochCache struct {
	last atomic.Int32 // latest epoch

	mu      sync.RWMutex
	list    []epochStart // replaced, never changed in place; guarded by mu
	written int          // 0: not on disk as it is, 1: written, 2: written and synced; guarded by mu
	exists  bool         // the file does; guarded by mu
}

const (
	epochsChanged = iota
	epochsWritten
	epochsSynced
)

// set replaces the list. Caller holds mu.
func (c *epochCache) set(list []epochStart) {
	c.list, c.written = list, epochsChanged
	last := kafka.NoLeaderEpoch
	if n := len(list); n > 0 {
		last = list[n-1].epoch
	}
	c.last.Store(int32(last))
}

func (c *epochCache) latest() kafka.LeaderEpoch { return kafka.LeaderEpoch(c.last.Load()) }

// assign notes that epoch begins at start and tells whether that was news. What
// contradicts it, later epochs or offsets, is dropped.
func (c *epochCache) assign(epoch kafka.LeaderEpoch, start kafka.Offset) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.list)
	if n > 0 && c.list[n-1].epoch == epoch && start >= c.list[n-1].start {
		return false
	}
	for n > 0 && (c.list[n-1].epoch >= epoch || c.list[n-1].start >= start) {
		n--
	}
	c.set(append(c.list[:n:n], epochStart{epoch, start}))
	return true
}

// endOf answers OffsetForLeaderEpoch (protocol.md 50) of a log that ends at end.
func (c *epochCache) endOf(requested kafka.LeaderEpoch, end kafka.Offset) (kafka.LeaderEpoch, kafka.Offset) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if requested < 0 || len(c.list) == 0 {
		return kafka.NoLeaderEpoch, kafka.NoOffset
	}
	if c.list[len(c.list)-1].epoch == requested {
		return requested, end
	}
	higher := sort.Search(len(c.list), func(i int) bool { return c.list[i].epoch > requested })
	switch higher {
	case len(c.list):
		return kafka.NoLeaderEpoch, kafka.NoOffset
	case 0:
		return requested, c.list[0].start
	}
	return c.list[higher-1].epoch, c.list[higher].start
}

// of is the epoch that an offset was written in, NoLeaderEpoch if it is older
// than all that are known.
func (c *epochCache) of(offset kafka.Offset) kafka.LeaderEpoch {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].start > offset })
	if i == 0 {
		return kafka.NoLeaderEpoch
	}
	return c.list[i-1].epoch
}

// truncateEnd drops the epochs that begin at or after end, and tells whether
// there were any.
func (c *epochCache) truncateEnd(end kafka.Offset) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := sort.Search(len(c.list), func(i int) bool { return c.list[i].start >= end })
	if n == len(c.list) {
		return false
	}
	c.set(c.list[:n:n])
	return true
}

// truncateStart drops the epochs that end before start, and tells whether the
// list changed. The epoch of start itself then begins there.
func (c *epochCache) truncateStart(start kafka.Offset) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := sort.Search(len(c.list), func(i int) bool { return c.list[i].start > start })
	if n == 0 || (n == 1 && c.list[0].start == start) {
		return false
	}
	list := append([]epochStart(nil), c.list[n-1:]...)
	list[0].start = start
	c.set(list)
	return true
}

// first is where the first known epoch begins, NoOffset if none is known.
func (c *epochCache) first() kafka.Offset {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.list) == 0 {
		return kafka.NoOffset
	}
	return c.list[0].start
}

// prepend puts epochs before those that are known, which win where both say
// something.
func (c *epochCache) prepend(older []epochStart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []epochStart
	for _, e := range older {
		if e.epoch <= c.list[0].epoch && e.start < c.list[0].start {
			list = append(list, e)
		}
	}
	rest := c.list
	if n := len(list); n > 0 && list[n-1].epoch == rest[0].epoch {
		rest = rest[1:]
	}
	if len(list) > 0 {
		c.set(append(list, rest...))
	}
}

// load reads the file. ok is false when there is none that can be believed.
func (c *epochCache) load(fsys vfs.FS, name string) (ok bool, err error) {
	b, err := vfs.ReadFile(fsys, name, epochFileMax)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return false, err
	}
	list, bad := parseEpochs(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exists = true
	if err != nil || bad != nil {
		return false, nil
	}
	c.set(list)
	c.written = epochsSynced
	return true, nil
}

// parseEpochs reads Kafka's checkpoint: version 0, the number of entries, an entry
// a line. Epochs and offsets must rise.
func parseEpochs(b []byte) ([]epochStart, error) {
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" {
		return nil, fmt.Errorf("leader epochs: version line is %q, want \"0\"", lines[0])
	}
	n, err := strconv.Atoi(lines[1])
	if err != nil || n != len(lines)-2 {
		return nil, fmt.Errorf("leader epochs: %q entries announced, %d present", lines[1], len(lines)-2)
	}
	list := make([]epochStart, 0, n)
	for _, line := range lines[2:] {
		epochText, startText, _ := strings.Cut(line, " ")
		epoch, err1 := strconv.ParseInt(epochText, 10, 32)
		start, err2 := strconv.ParseInt(startText, 10, 64)
		if err := errors.Join(err1, err2); err != nil || epoch < 0 || start < 0 {
			return nil, fmt.Errorf("leader epochs: bad line %q", line)
		}
		e := epochStart{kafka.LeaderEpoch(epoch), kafka.Offset(start)}
		if k := len(list); k > 0 && (e.epoch <= list[k-1].epoch || e.start <= list[k-1].start) {
			return nil, fmt.Errorf("leader epochs: %q follows epoch %d from %d", line, list[k-1].epoch, list[k-1].start)
		}
		list = append(list, e)
	}
	return list, nil
}

// formatEpochs is the file's content.
func formatEpochs(list []epochStart) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(list))
	for _, e := range list {
		fmt.Fprintf(&b, "%d %d\n", e.epoch, e.start)
	}
	return b.Bytes()
}

// write stores the epochs if they changed. Without sync a power failure may leave
// a broken file, from which Open recovers by reading the batches; that is what may
// happen under a lock. With sync they are durable.
func (c *epochCache) write(fsys vfs.FS, name string, sync bool) error {
	c.mu.Lock()
	list, written, exists := c.list, c.written, c.exists
	c.mu.Unlock()
	if written == epochsSynced || (written == epochsWritten && !sync) || (!exists && len(list) == 0) {
		return nil
	}
	var err error
	switch {
	case sync:
		err = vfs.WriteFileAtomic(fsys, name, formatEpochs(list))
	case exists:
		tmp := name + ".new"
		if err = writeFile(fsys, tmp, formatEpochs(list)); err == nil {
			err = fsys.Rename(tmp, name)
		}
	default:
		err = writeFile(fsys, name, formatEpochs(list))
	}
	if err != nil {
		return fmt.Errorf("write leader epochs: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exists = true
	if slices.Equal(c.list, list) { // else it changed meanwhile
		c.written = epochsWritten
		if sync {
			c.written = epochsSynced
		}
	}
	return nil
}

// writeFile writes a file without making it durable.
func writeFile(fsys vfs.FS, name string, b []byte) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}
