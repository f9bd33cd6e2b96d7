package partition

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// sentinels are the errors of commitlog: what a client is told, and whether the
// directory is at fault.
var sentinels = map[string]struct {
	err     error
	code    kafka.ErrorCode
	offline bool
}{
	"ErrOffsetOutOfRange": {commitlog.ErrOffsetOutOfRange, kafka.ErrOffsetOutOfRange, false},
	"ErrStorage":          {fmt.Errorf("%w: %w", commitlog.ErrStorage, io.ErrUnexpectedEOF), kafka.ErrKafkaStorageError, true},
	"ErrCorrupt":          {commitlog.ErrCorrupt, kafka.ErrKafkaStorageError, false},
	"ErrClosed":           {commitlog.ErrClosed, kafka.ErrNotLeaderOrFollower, false},
	"ErrChanged":          {commitlog.ErrChanged, kafka.ErrNotLeaderOrFollower, false},
	"ErrEpochBack":        {commitlog.ErrEpochBack, kafka.ErrNotLeaderOrFollower, false},
}

// TestEveryErrorOfTheLogHasItsCode holds that only a fault of the disk takes a
// directory, and with it all of its partitions, offline.
func TestEveryErrorOfTheLogHasItsCode(t *testing.T) {
	for name, c := range sentinels {
		r := newRig(t, vfs.OS(), nil)
		r.lead(0)
		err := fmt.Errorf("t-0: %w", c.err)
		if got := r.p.at().logFailed("read", err); got != c.code {
			t.Errorf("read with %s: %s, want %s", name, got, c.code)
		}
		if down := r.p.Dir().Offline(); (down != nil) != c.offline {
			t.Errorf("after %s the directory is offline: %v", name, down)
		}
	}
}

// TestErrorsThatAreNotTheLogs holds the same for what the log passes on.
func TestErrorsThatAreNotTheLogs(t *testing.T) {
	full := fmt.Errorf("%w: %w", commitlog.ErrStorage, syscall.ENOSPC)
	handles := fmt.Errorf("%w: %w", commitlog.ErrStorage, syscall.EMFILE)
	for _, c := range []struct {
		err     error
		code    kafka.ErrorCode
		offline bool
	}{
		{&kafka.Error{Code: kafka.ErrOutOfOrderSequenceNumber}, kafka.ErrOutOfOrderSequenceNumber, false},
		{full, kafka.ErrKafkaStorageError, false},
		{handles, kafka.ErrKafkaStorageError, false},
		{errors.New("nobody knows"), kafka.ErrKafkaStorageError, true},
	} {
		r := newRig(t, vfs.OS(), nil)
		r.lead(0)
		if got := r.p.at().logFailed("append", c.err); got != c.code {
			t.Errorf("append with %v: %s, want %s", c.err, got, c.code)
		}
		if down := r.p.Dir().Offline(); (down != nil) != c.offline {
			t.Errorf("after %v the directory is offline: %v", c.err, down)
		}
	}
}

// TestNoSentinelIsForgotten reads which errors commitlog declares. Otherwise a new
// one would take directories offline unseen.
func TestNoSentinelIsForgotten(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../commitlog/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, name := range v.Names {
			if !strings.HasPrefix(name.Name, "Err") {
				continue
			}
			found++
			if _, known := sentinels[name.Name]; !known {
				t.Errorf("commitlog.%s has no code here", name.Name)
			}
		}
		return true
	})
	if found != len(sentinels) {
		t.Errorf("commitlog declares %d errors, the table has %d", found, len(sentinels))
	}
}

// TestFailedLogLeavesNoCleanMark holds that a directory is not marked clean when one
// of its logs failed while the directory stayed in use: its file may end in half a
// batch, and a clean start would not look.
func TestFailedLogLeavesNoCleanMark(t *testing.T) {
	fsys := &faultyFS{FS: vfs.OS()}
	r := newRig(t, fsys, nil)
	r.lead(0)
	r.mustAppend(batch(1))
	full := error(syscall.ENOSPC)
	fsys.sync.Store(&full)
	if _, err := r.p.Log().Sync(); err == nil {
		t.Fatal("a failed flush was no error")
	}
	fsys.sync.Store(nil)
	if err := r.p.Close(true); err == nil {
		t.Error("a failed log was closed without an error")
	}
	if err := r.dirs.Close(true, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat(r.p.Dir().Path + "/.kafka_cleanshutdown"); err == nil {
		t.Error("the directory is marked clean")
	}
}
