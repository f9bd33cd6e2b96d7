package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// record is one record as any client shows it.
type record struct {
	partition int32
	offset    int64
	key       string
	value     []byte
	hash      string // The sha256 header.
}

// file is one file of the tree.
type file struct {
	path string // Below the root.
	full string
}

// writer sends records and calls back for each acknowledged one, from any goroutine.
type writer func(next func() (record, bool), acked func(record)) error

// reader calls back for each record of a topic, in any order of partitions, and returns at its end.
type reader func(add func(record)) error

func list(dir string, limit int) ([]file, error) {
	var out []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if limit > 0 && len(out) == limit {
			return fs.SkipAll
		}
		rel, err := filepath.Rel(dir, path)
		out = append(out, file{path: rel, full: path})
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no files below %q", dir)
	}
	return out, err
}

// await waits until somebody has made a file.
func await(path string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("nobody has made %s in %v", path, patience)
}

func load(files []file, w writer, acked string, hold int) error {
	out := io.Discard
	if acked != "" {
		f, err := os.Create(acked)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f // Unbuffered: a line counts as soon as it is written.
	}
	var mu sync.Mutex
	n, i := 0, 0
	var readErr error
	next := func() (record, bool) {
		if i == len(files) || readErr != nil {
			return record{}, false
		}
		if hold > 0 && i == hold {
			if readErr = await(acked + ".on"); readErr != nil {
				return record{}, false
			}
		}
		f := files[i]
		i++
		b, err := os.ReadFile(f.full)
		if err != nil {
			readErr = err
			return record{}, false
		}
		sum := sha256.Sum256(b)
		return record{key: f.path, value: b, hash: hex.EncodeToString(sum[:])}, true
	}
	err := w(next, func(r record) {
		mu.Lock()
		defer mu.Unlock()
		n++
		fmt.Fprintf(out, "%d %d %s\n", r.partition, r.offset, r.key)
	})
	if err == nil {
		err = readErr
	}
	if err != nil {
		return err
	}
	if n != len(files) {
		return fmt.Errorf("%d records acknowledged, want %d", n, len(files))
	}
	fmt.Printf("%d files loaded\n", n)
	return nil
}

// checker compares what comes out with the files.
type checker struct {
	files map[string]string // path → full path
	seen  map[string]int
	at    map[string]string // "partition offset" → key
	bad   []string
	once  bool // a compacted topic: no file twice, and keys that begin with ~ are no files
}

func newChecker(files []file) *checker {
	c := &checker{files: map[string]string{}, seen: map[string]int{}, at: map[string]string{}}
	for _, f := range files {
		c.files[f.path] = f.full
	}
	return c
}

func (c *checker) add(r record) {
	if c.once && strings.HasPrefix(r.key, "~") {
		return
	}
	full, ok := c.files[r.key]
	if !ok {
		c.bad = append(c.bad, fmt.Sprintf("unknown key %q", r.key))
		return
	}
	want, err := os.ReadFile(full)
	if err != nil {
		c.bad = append(c.bad, err.Error())
		return
	}
	sum := sha256.Sum256(r.value)
	if hash := hex.EncodeToString(sum[:]); string(want) != string(r.value) || r.hash != hash {
		c.bad = append(c.bad, fmt.Sprintf("%s at %d/%d: %d bytes of hash %s, header %q, want %d bytes", r.key, r.partition,
			r.offset, len(r.value), hash, r.hash, len(want)))
	}
	c.seen[r.key]++
	c.at[fmt.Sprint(r.partition, " ", r.offset)] = r.key
}

// acked holds every acknowledged record against what was read at its place.
func (c *checker) acked(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		var partition, offset int64
		var key string
		if _, err := fmt.Sscanf(s.Text(), "%d %d %s", &partition, &offset, &key); err != nil {
			return fmt.Errorf("acked line %q: %w", s.Text(), err)
		}
		if got := c.at[fmt.Sprint(partition, " ", offset)]; got != key {
			c.bad = append(c.bad, fmt.Sprintf("acknowledged %s at %d/%d, read %q there", key, partition, offset, got))
		}
	}
	return s.Err()
}

// badShown bounds how many faults result prints.
const badShown = 10

func (c *checker) result() error {
	more := 0
	for path := range c.files {
		switch n := c.seen[path]; {
		case n == 0:
			c.bad = append(c.bad, "missing "+path)
		case n > 1 && c.once:
			c.bad = append(c.bad, fmt.Sprintf("%d times %s", n, path))
		case n > 1:
			more += n - 1
		}
	}
	for i, b := range c.bad {
		if i == badShown {
			break
		}
		fmt.Fprintln(os.Stderr, b)
	}
	if len(c.bad) > 0 {
		return fmt.Errorf("%d faults in %d files", len(c.bad), len(c.files))
	}
	fmt.Printf("%d files equal, %d duplicates\n", len(c.files), more)
	return nil
}

// stream reads what kcat prints with -f '%p %o %K %S %h\n%k%s\n'.
func (c *checker) stream(in io.Reader) error {
	b := bufio.NewReaderSize(in, 1<<20)
	for {
		var r record
		var klen, vlen int
		line, err := b.ReadString('\n')
		if err == io.EOF && line == "" {
			return nil
		}
		if err != nil {
			return err
		}
		var header string
		if _, err := fmt.Sscanf(line, "%d %d %d %d %s", &r.partition, &r.offset, &klen, &vlen, &header); err != nil {
			return fmt.Errorf("kcat line %q: %w", line, err)
		}
		if len(header) > len("sha256=") {
			r.hash = header[len("sha256="):]
		}
		body := make([]byte, max(klen, 0)+max(vlen, 0)+1)
		if _, err := io.ReadFull(b, body); err != nil {
			return err
		}
		r.key = string(body[:klen])
		r.value = body[klen : len(body)-1]
		c.add(r)
	}
}
