package pluginload_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/core/pluginhost"
)

// TestSwapsUnderLoad upgrades all plugins back and forth between two binaries while
// clients produce, consume and log in: no request fails, none is answered wrongly, and
// nothing is left of the versions before.
func TestSwapsUnderLoad(t *testing.T) {
	w := start(t, options{bake: 300 * time.Millisecond})
	w.topics()
	w.serving()
	round := func(n int) {
		l := w.begin(0)
		for i := range n {
			w.swap((i + 1) % 2)
		}
		l.end(t)
		w.until("the bake time is over", func(all map[string]pluginhost.Status) bool {
			for name := range kinds {
				if all[name].State != pluginhost.Serving {
					return false
				}
			}
			return true
		})
	}
	round(2) // opens what stays open
	before := w.settled(usage{})
	round(2 * ((*swaps + 1) / 2))
	after := w.settled(before)
	t.Logf("before %+v, after %+v", before, after)
	if after.more(before) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for name, s := range w.status() {
		if _, ours := kinds[name]; ours && (len(s.Errors) > 0 || s.Calls == 0 && name != "push" || s.Restarts > 0 || s.Reason != "") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	w.kept(t)
}

// swap brings a version of all plugins into service.
func (w *world) swap(version int) {
	w.t.Helper()
	var specs []pluginhost.Spec
	was := w.status()
	for name := range kinds {
		specs = append(specs, w.spec(name, version))
	}
	w.order(specs...)
	w.until("version "+versions[version]+" serves", func(all map[string]pluginhost.Status) bool {
		for name := range kinds {
			if s := all[name]; s.Version != versions[version] || s.Generation == was[name].Generation {
				return false
			}
		}
		return true
	})
}

// kept checks what the retention left: some of it went, and not what it had to keep.
func (w *world) kept(t *testing.T) {
	t.Helper()
	c := w.client(open)
	defer c.Close()
	admin := kadm.NewClient(c)
	starts, err := admin.ListStartOffsets(t.Context(), "rolled")
	if err != nil {
		t.Fatal(err)
	}
	ends, err := admin.ListEndOffsets(t.Context(), "rolled")
	if err != nil {
		t.Fatal(err)
	}
	starts.Each(func(s kadm.ListedOffset) {
		e, _ := ends.Lookup(s.Topic, s.Partition)
		// A segment of 1,000 bytes has more than four of these records.
		if s.Err != nil || s.Offset == 0 || e.Offset-s.Offset < 4 || e.Offset-s.Offset > 100 {
			t.Errorf("partition %d has offsets %d to %d (%v), want some segments gone, two kept", s.Partition, s.Offset, e.Offset, s.Err)
		}
	})
}

// usage is what the process holds; dirs are those of plugins.
type usage struct{ goroutines, files, children, dirs int }

// more says whether it holds more than o.
func (u usage) more(o usage) bool {
	return u.goroutines > o.goroutines || u.files > o.files || u.children > o.children || u.dirs > o.dirs
}

// now is what it holds now.
func (w *world) now() usage {
	w.t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		w.t.Skip("no /proc here")
	}
	children := 0
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		children += len(strings.Fields(string(text)))
	}
	dirs, err := filepath.Glob(filepath.Join(w.runDir(), "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return usage{runtime.NumGoroutine(), len(files), children, len(dirs)}
}

// settled is what the process holds when it holds no more than wanted, or, if that
// never comes, the least it held. If nothing is wanted it looks for some seconds.
func (w *world) settled(wanted usage) usage {
	w.t.Helper()
	lasts := patience
	if wanted == (usage{}) {
		lasts = 5 * time.Second
	}
	limit := time.After(lasts)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	least := w.now()
	for {
		select {
		case <-look.C:
		case <-limit:
			return least
		}
		u := w.now()
		if wanted != (usage{}) && !u.more(wanted) {
			return u
		}
		least = usage{min(u.goroutines, least.goroutines), min(u.files, least.files), min(u.children, least.children), min(u.dirs, least.dirs)}
	}
}
