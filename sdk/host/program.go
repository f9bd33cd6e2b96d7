package host

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrDigest says that a program is not the one that the operator named.
var ErrDigest = errors.New("SHA-256 of the plugin's file is not the expected one")

// program is the file of a plugin, held open from hashing until it runs.
type program struct {
	file  *os.File
	sum   [32]byte
	size  int64
	mtime time.Time
	// script says that an interpreter opens the file by its name again.
	script bool
}

// openProgram opens and hashes the file.
func openProgram(c Command) (*program, error) {
	if !filepath.IsAbs(c.Path) {
		return nil, fmt.Errorf("plugin's path %q is not absolute", c.Path)
	}
	file, err := os.Open(c.Path)
	if err != nil {
		return nil, fmt.Errorf("plugin's program: %w", err)
	}
	p := &program{file: file}
	if err := p.read(c.Digest); err != nil {
		file.Close()
		return nil, fmt.Errorf("plugin's program %s: %w", c.Path, err)
	}
	return p, nil
}

// read looks at the file and hashes it.
func (p *program) read(want [32]byte) error {
	info, err := p.file.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("a folder; write the path of the program in it, which in Go go build makes")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case info.Mode().Perm()&0o111 == 0 && filepath.Ext(p.file.Name()) == ".go":
		return errors.New("not executable; it is the source: write the path of the program that go build makes of it")
	case info.Mode().Perm()&0o111 == 0:
		return errors.New("not executable (chmod +x)")
	}
	p.size, p.mtime = info.Size(), info.ModTime()
	var head [2]byte
	if _, err := p.file.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	p.script = string(head[:]) == "#!"
	if want == [32]byte{} {
		return nil
	}
	return p.verify(want)
}

// hint is what to look at when the program did not start: the system names the script
// where it misses the interpreter.
func (p *program) hint(err error) string {
	if p.script && errors.Is(err, fs.ErrNotExist) {
		return "; is the interpreter there that its first line names?"
	}
	return ""
}

// verify hashes what is in the file now.
func (p *program) verify(want [32]byte) error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(p.file, 0, p.size)); err != nil {
		return err
	}
	h.Sum(p.sum[:0])
	if subtle.ConstantTimeCompare(p.sum[:], want[:]) != 1 {
		return fmt.Errorf("%w: it is %x, want %x", ErrDigest, p.sum, want)
	}
	return nil
}

// unchanged says whether the file is as it was hashed: asked when the process runs,
// because from then on the system lets nobody write to the file.
func (p *program) unchanged() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != p.size || !info.ModTime().Equal(p.mtime) {
		return fmt.Errorf("%w: it changed while it was started", ErrDigest)
	}
	return nil
}

// copyTo makes a private copy of the file and checks it again: what an interpreter
// opens by name must be what was hashed. No process is forked meanwhile: a child has the
// copy open for writing, too, until it runs its own program, and the system starts
// nothing that somebody may write to (ETXTBSY).
func (p *program) copyTo(path string, want [32]byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o500)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(p.file, 0, p.size))
	copied := &program{file: to, size: p.size}
	if err == nil && want != [32]byte{} {
		err = copied.verify(want)
	}
	return errors.Join(err, to.Close())
}
