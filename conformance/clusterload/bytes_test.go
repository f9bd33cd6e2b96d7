package clusterload_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mortisemq/mortise/cluster/local"
)

// sameBytes stops all nodes in order and holds that the replicas of each partition have
// the same bytes, wherever their segments begin.
func (w *world) sameBytes() {
	w.t.Helper()
	w.inSync()
	running := slices.DeleteFunc(slices.Clone(w.cluster.Nodes()), func(n *local.Node) bool { return !n.Runs() })
	w.stopAll()
	first := map[string][]byte{} // by partition
	copies := map[string]int{}
	for _, n := range running {
		logs := filepath.Join(n.Dir, "data", "logs")
		entries, err := os.ReadDir(logs)
		w.must(err)
		for _, e := range entries {
			if !e.IsDir() || strings.Contains(e.Name(), ".") {
				continue // a partition that was moved away goes under another name
			}
			text, err := logOf(filepath.Join(logs, e.Name()))
			w.must(err)
			copies[e.Name()]++
			if before, ok := first[e.Name()]; !ok {
				first[e.Name()] = text
			} else if !bytes.Equal(before, text) {
				w.t.Errorf("node %d has other bytes of %s: %s", n.ID, e.Name(), difference(before, text))
			}
		}
	}
	for _, partition := range slices.Sorted(maps.Keys(copies)) {
		if copies[partition] < 2 {
			w.t.Errorf("there is only one copy of %s", partition)
		}
	}
}

// stopAll stops all nodes in order, at the same moment. One that does not end tells what
// its goroutines do.
func (w *world) stopAll() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for _, n := range w.cluster.Nodes() {
		w.must(n.Signal(syscall.SIGTERM))
	}
	for _, n := range w.cluster.Nodes() {
		ended := n.Ended()
		if ended == nil {
			continue // it never was started
		}
		select {
		case <-ended:
		case <-ctx.Done():
			w.must(n.Signal(syscall.SIGQUIT))
			<-ended
			w.t.Errorf("node %d does not stop", n.ID)
		}
	}
}

// logOf is the log of a partition: its segments one after the other.
func logOf(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir) // in the order of their names, which are offsets
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") {
			text, err := fs.ReadFile(os.DirFS(dir), e.Name())
			if err != nil {
				return nil, err
			}
			all = append(all, text...)
		}
	}
	return all, nil
}

// difference says where two logs part.
func difference(a, b []byte) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("of %d and %d bytes, they differ at %d", len(a), len(b), i)
		}
	}
	return fmt.Sprintf("%d and %d bytes, the beginning is the same", len(a), len(b))
}
