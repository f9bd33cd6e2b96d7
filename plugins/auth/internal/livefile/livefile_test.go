package livefile

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// rig is a file and what was loaded of it, in a bubble with its own time.
type rig struct {
	t      *testing.T
	path   string
	file   *File
	loaded []string
	log    bytes.Buffer
}

// inRig runs a test with a file whose content is good. Content that begins with bad is
// refused.
func inRig(t *testing.T, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, path: filepath.Join(t.TempDir(), "f")}
		r.write("first")
		var err error
		r.file, err = Open(r.path, 100, slog.New(slog.NewTextHandler(&r.log, nil)), func(content []byte) error {
			if strings.HasPrefix(string(content), "bad") {
				return errors.New(string(content))
			}
			r.loaded = append(r.loaded, string(content))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.file.Close()
		test(r)
	})
}

func (r *rig) write(content string) {
	r.t.Helper()
	if err := os.WriteFile(r.path+".new", []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(r.path+".new", r.path); err != nil {
		r.t.Fatal(err)
	}
}

// pass lets the file be looked at n times.
func (r *rig) pass(n int) {
	<-time.After(time.Duration(n)*Period + time.Millisecond)
	synctest.Wait()
}

func (r *rig) want(bad bool, loaded ...string) {
	r.t.Helper()
	if got := strings.Join(r.loaded, ","); got != strings.Join(loaded, ",") || r.file.Bad() != bad {
		r.t.Errorf("loaded %s, bad %v; want %v, %v", got, r.file.Bad(), loaded, bad)
	}
	if got := r.file.Loads(); got != int64(len(loaded)) {
		r.t.Errorf("%d loads counted, want %d", got, len(loaded))
	}
}

func TestReadsAgainWhatChanged(t *testing.T) {
	inRig(t, func(r *rig) {
		r.pass(3)
		r.want(false, "first")
		r.write("other")
		r.pass(1)
		r.want(false, "first", "other")
	})
}

func TestBadContentChangesNothing(t *testing.T) {
	inRig(t, func(r *rig) {
		r.write("bad 1")
		r.pass(3)
		r.want(true, "first")
		r.write("bad 2")
		r.pass(3)
		r.write("good")
		r.pass(1)
		r.want(false, "first", "good")
		log := r.log.String()
		if strings.Count(log, "bad 1") != 1 || strings.Count(log, "bad 2") != 1 || strings.Count(log, "good again") != 1 {
			t.Errorf("each trouble is told once:\n%s", log)
		}
	})
}

func TestBadContentThatIsTakenBack(t *testing.T) {
	inRig(t, func(r *rig) {
		r.write("bad")
		r.pass(1)
		r.write("first")
		r.pass(1)
		r.want(false, "first", "first")
	})
}

func TestAFileThatGoesAndComesBack(t *testing.T) {
	inRig(t, func(r *rig) {
		if err := os.Rename(r.path, r.path+".away"); err != nil {
			t.Fatal(err)
		}
		r.pass(2)
		r.want(true, "first")
		if err := os.Rename(r.path+".away", r.path); err != nil {
			t.Fatal(err)
		}
		r.pass(1)
		r.want(false, "first")
	})
}

func TestLongFilesAndFoldersAreBad(t *testing.T) {
	inRig(t, func(r *rig) {
		r.write(strings.Repeat("x", 101))
		r.pass(1)
		r.want(true, "first")
		if err := os.Remove(r.path); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(r.path, 0o700); err != nil {
			t.Fatal(err)
		}
		r.pass(1)
		r.want(true, "first")
		if !strings.Contains(r.log.String(), "no regular file") || !strings.Contains(r.log.String(), "longer than 100 bytes") {
			t.Errorf("log:\n%s", r.log.String())
		}
	})
}

func TestMetrics(t *testing.T) {
	inRig(t, func(r *rig) {
		r.write("bad")
		r.pass(1)
		text, err := r.file.Metrics(t.Context())
		if err != nil || !strings.Contains(string(text), "plugin_file_bad 1\n") || !strings.Contains(string(text), "plugin_file_loads_total 1\n") {
			t.Errorf("metrics %s, %v", text, err)
		}
	})
}

func TestOpenNeedsAGoodFile(t *testing.T) {
	refused := errors.New("refused")
	path := filepath.Join(t.TempDir(), "f")
	if _, err := Open(path, 10, slog.Default(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, 10, slog.Default(), func([]byte) error { return refused }); !errors.Is(err, refused) || !strings.Contains(err.Error(), path) {
		t.Errorf("a refused file: %v", err)
	}
}
