package clusterload_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
	first := map[string]string{} // by partition, its folder
	copies := map[string]int{}
	for _, n := range running {
		logs := filepath.Join(n.Data(), "logs")
		entries, err := os.ReadDir(logs)
		w.must(err)
		for _, e := range entries {
			if !e.IsDir() || strings.Contains(e.Name(), ".") {
				continue // a partition that was moved away goes under another name
			}
			dir := filepath.Join(logs, e.Name())
			copies[e.Name()]++
			if before, ok := first[e.Name()]; !ok {
				first[e.Name()] = dir
			} else if what, err := difference(before, dir); err != nil || what != "" {
				w.t.Errorf("node %d has other bytes of %s: %s, %v", n.ID, e.Name(), what, err)
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

// logOf reads the log of a partition: its segments one after the other.
func logOf(dir string) (io.ReadCloser, error) {
	segments, err := filepath.Glob(filepath.Join(dir, "*.log")) // in the order of their names, which are offsets
	if err != nil {
		return nil, err
	}
	var all []io.Reader
	l := &logReader{}
	for _, name := range segments {
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.files, all = append(l.files, f), append(all, f)
	}
	l.Reader = bufio.NewReaderSize(io.MultiReader(all...), compareBytes)
	return l, nil
}

// logReader is the segments of a partition in a row.
type logReader struct {
	io.Reader
	files []*os.File
}

// Close closes the segments.
func (l *logReader) Close() (err error) {
	for _, f := range l.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// compareBytes are compared at a time.
const compareBytes = 256 << 10

// difference says where the logs in two folders part; empty: nowhere.
func difference(a, b string) (string, error) {
	one, err := logOf(a)
	if err != nil {
		return "", err
	}
	defer one.Close()
	two, err := logOf(b)
	if err != nil {
		return "", err
	}
	defer two.Close()
	x, y := make([]byte, compareBytes), make([]byte, compareBytes)
	for at := int64(0); ; {
		n, errX := io.ReadFull(one, x)
		m, errY := io.ReadFull(two, y)
		for i := range min(n, m) {
			if x[i] != y[i] {
				return fmt.Sprintf("they differ at byte %d", at+int64(i)), nil
			}
		}
		if n != m {
			return fmt.Sprintf("one ends at byte %d, the other one does not", at+int64(min(n, m))), nil
		}
		at += int64(n)
		ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
		if ended(errX) && ended(errY) {
			return "", nil
		}
		if errX != nil || errY != nil {
			return "", errors.Join(errX, errY)
		}
	}
}
