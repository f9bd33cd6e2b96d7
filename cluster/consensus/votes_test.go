package consensus

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft-wal/metadb"
)

// Damage of the file of votes stops the start with an error that names it; the
// library under it would end the process.
func TestDamagedVotesStopTheStart(t *testing.T) {
	made := t.TempDir()
	g := open(t, made)
	register(t, g)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":    func([]byte) []byte { return nil },
		"half":     func(b []byte) []byte { return b[:len(b)/2] },
		"one page": func(b []byte) []byte { return b[:os.Getpagesize()] },
		"garbage":  func(b []byte) []byte { return bytes.Repeat([]byte{0xff}, len(b)) },
		"no inside": func(b []byte) []byte {
			return append(b[:2*os.Getpagesize():2*os.Getpagesize()], make([]byte, len(b)-2*os.Getpagesize())...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, metadb.FileName)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o644); err != nil {
				t.Fatal(err)
			}
			g, err := Open(t.Context(), Options{Dir: dir, NodeID: 1})
			if err == nil {
				g.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), metadb.FileName) {
				t.Errorf("error %q, want ErrCorrupt that names %s", err, metadb.FileName)
			}
		})
	}
}
