package livefile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Period is how often a file is looked at.
	Period = 500 * time.Millisecond
	// young is for how long a file is read again although nothing shows: times of
	// files are coarse.
	young = 2 * time.Second
)

// File is a file that is read again when it changes. Close it.
type File struct {
	path    string
	max     int64
	load    func(content []byte) error
	log     *slog.Logger
	stop    context.CancelFunc
	stopped sync.WaitGroup

	// What the last look saw, and what load said of it. Owned by watch after Open.
	seen    os.FileInfo
	digest  [sha256.Size]byte
	refused error
	told    string // what was logged last

	bad   atomic.Bool
	loads atomic.Int64
}

// Open reads the file, which must not be longer than max bytes, and gives it to load;
// an error of either is returned. Then load gets each new content, one call at a time,
// until Close. load must take all of it or refuse it with an error and change nothing.
func Open(path string, max int64, log *slog.Logger, load func(content []byte) error) (*File, error) {
	f := &File{path: path, max: max, load: load, log: log}
	if err := f.look(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.stopped.Go(func() { f.watch(ctx) })
	return f, nil
}

// Close ends the watching and waits for it.
func (f *File) Close() error {
	f.stop()
	f.stopped.Wait()
	return nil
}

// Path is the file's name.
func (f *File) Path() string { return f.path }

// Bad says that the file as it is now could not be read or was refused.
func (f *File) Bad() bool { return f.bad.Load() }

// Loads is how many contents were taken.
func (f *File) Loads() int64 { return f.loads.Load() }

// Metrics are in Prometheus' text format.
func (f *File) Metrics(context.Context) ([]byte, error) {
	bad := 0
	if f.Bad() {
		bad = 1
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# TYPE plugin_file_bad gauge\nplugin_file_bad %d\n", bad)
	fmt.Fprintf(&b, "# TYPE plugin_file_loads_total counter\nplugin_file_loads_total %d\n", f.Loads())
	return b.Bytes(), nil
}

func (f *File) watch(ctx context.Context) {
	ticker := time.NewTicker(Period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.tell(f.look())
		case <-ctx.Done():
			return
		}
	}
}

// tell logs what goes wrong once, and that it goes well again.
func (f *File) tell(err error) {
	f.bad.Store(err != nil)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == f.told {
		return
	}
	f.told = text
	if err != nil {
		f.log.Error("file can't be used, what was read before stays in force", "file", f.path, "error", err)
		return
	}
	f.log.Info("file is good again", "file", f.path)
}

// look reads the file if it may have changed, and says what is wrong with it now.
func (f *File) look() error {
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", f.path)
	case f.unchanged(info):
		return f.refused
	}
	content, err := f.read()
	if err != nil {
		return err
	}
	digest := sha256.Sum256(content)
	same := f.seen != nil && digest == f.digest
	f.seen, f.digest = info, digest
	if same {
		return f.refused
	}
	if f.refused = f.load(content); f.refused != nil {
		f.refused = fmt.Errorf("%s: %w", f.path, f.refused)
		return f.refused
	}
	f.loads.Add(1)
	return nil
}

// unchanged says that the file shows no change and could not hide one.
func (f *File) unchanged(info os.FileInfo) bool {
	return f.seen != nil && os.SameFile(f.seen, info) && info.Size() == f.seen.Size() &&
		info.ModTime().Equal(f.seen.ModTime()) && time.Since(info.ModTime()) > young
}

func (f *File) read() ([]byte, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, f.max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > f.max {
		return nil, fmt.Errorf("%s is longer than %d bytes", f.path, f.max)
	}
	return content, nil
}
