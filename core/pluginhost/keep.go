package pluginhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/sdk/host"
)

// keptMax bounds a program that is kept, in bytes.
const keptMax = 1 << 30

// kept is where the programs of entries are kept that have served: who builds the next
// version over the one before could not go back else. Each file is of one entry and one
// digest, and only that entry's supervisor changes it. What runs of it is checked like
// any other program.
type kept string

// path is where the program of an entry is, or would be, kept; empty: nowhere.
func (k kept) path(s *Spec) string {
	sum, ok := s.digest()
	if k == "" || !ok || s.Builtin != "" {
		return ""
	}
	return filepath.Join(string(k), s.Name+"."+hex.EncodeToString(sum[:])) // a name has no dot
}

// stands says whether an error is one about the program at the entry's path, in whose
// place the kept one may run.
func (k kept) stands(s *Spec, err error) bool {
	if !errors.Is(err, host.ErrDigest) && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	path := k.path(s)
	if path == "" {
		return false
	}
	_, missing := os.Stat(path)
	return missing == nil
}

// keep keeps the program of an entry.
func (k kept) keep(s *Spec) error {
	path := k.path(s)
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(string(k), 0o700); err != nil {
		return err
	}
	if _, missing := os.Stat(path); missing == nil {
		return nil
	}
	return copyProgram(s, path)
}

// forget removes the programs of an entry but for those of some of its specs.
func (k kept) forget(name string, but ...*Spec) error {
	if k == "" {
		return nil
	}
	files, err := os.ReadDir(string(k))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		path := filepath.Join(string(k), f.Name())
		stays := slices.ContainsFunc(but, func(s *Spec) bool { return s != nil && k.path(s) == path })
		if strings.HasPrefix(f.Name(), name+".") && !stays {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// copyProgram copies the program of an entry, which has to have the entry's digest, to
// a path.
func copyProgram(s *Spec, path string) (err error) {
	from, err := os.Open(s.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	part := path + ".part"
	_ = os.Remove(part)                                                    // of a broker that ended meanwhile
	to, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o555) // whoever it runs as; nobody else reaches it
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, h), io.LimitReader(from, keptMax))
	if err == nil {
		err = to.Sync() // or a power cut leaves a bad copy under a name that is not written again
	}
	err = errors.Join(err, to.Close())
	if want, _ := s.digest(); err == nil && [32]byte(h.Sum(nil)) != want {
		err = fmt.Errorf("%s: %w", s.Path, host.ErrDigest)
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

// launchKept is launch of an entry that may have served before: a program that is not at
// its path any more runs from where it was kept.
func (h *Host) launchKept(ctx context.Context, s *Spec, log func([]byte)) (Process, error) {
	p, err := h.launch(ctx, s, log)
	if err == nil || !h.kept.stands(s, err) {
		return p, err
	}
	copied := s.clone()
	copied.Path = h.kept.path(s)
	again, keptErr := h.launch(ctx, copied, log)
	if keptErr != nil {
		return nil, errors.Join(err, fmt.Errorf("the copy that was kept: %w", keptErr))
	}
	h.o.Log.Warn("plugin's program is not at its path any more; the copy that was kept runs", "plugin", s.Name, "path", s.Path, "kept", copied.Path, "reason", err)
	return again, nil
}

// keep keeps the program of what serves now, beside the supervisor, and lets the others
// of the entry go but for the one that it can go back to.
func (s *slot) keep(g *generation) {
	if s.host.kept == "" {
		return
	}
	previous := s.previous
	s.ending.Go(func() {
		s.keeping.Lock()
		defer s.keeping.Unlock()
		err := s.host.kept.keep(g.spec)
		if s.current.Load() == g {
			err = errors.Join(err, s.host.kept.forget(s.name, g.spec, previous))
		}
		if err != nil {
			s.host.o.Log.Warn("plugin's program is not kept: a rollback needs it at its path", "plugin", s.name, "err", err)
		}
	})
}
