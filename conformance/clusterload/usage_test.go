package clusterload_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of CPU time in /proc, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// usage is what one node has taken so far, or takes now. All zero: it does not run.
type usage struct {
	cpu        time.Duration
	anonymous  int64 // bytes of memory
	written    int64 // bytes for the disk
	handles    int
	goroutines int
	heap       int64 // bytes in use
	segments   int   // open log files
	fetches    int64 // requests to leaders
	decisions  int64 // of the cluster, that are in the image
	controls   bool  // it decides
}

// usages is one for each node.
type usages []usage

// usage looks at all nodes.
func (w *world) usage() (all usages) {
	w.t.Helper()
	for _, n := range w.cluster.Nodes() {
		var u usage
		if pid := n.PID(); pid != 0 {
			w.must(u.fromProcess(pid))
			w.must(u.fromMetrics(n.Admin()))
		}
		all = append(all, u)
	}
	return all
}

// fromProcess reads what the kernel knows.
func (u *usage) fromProcess(pid int) error {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // what follows the name, from the third field on
	fields := strings.Fields(rest)
	for _, field := range []int{14, 15} { // user and system time
		ticks, err := strconv.ParseInt(fields[field-3], 10, 64)
		if err != nil {
			return err
		}
		u.cpu += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	if u.anonymous, err = figure(dir+"status", "RssAnon:"); err != nil {
		return err
	}
	u.anonymous <<= 10
	if u.written, err = figure(dir+"io", "write_bytes:"); err != nil {
		return err
	}
	handles, err := os.ReadDir(dir + "fd")
	u.handles = len(handles)
	return err
}

// figure is the number behind a name in a file of /proc.
func figure(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("no %s in %s", name, file)
}

// fromMetrics reads what the node says of itself.
func (u *usage) fromMetrics(admin string) error {
	resp, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	found := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = v
		}
	}
	u.goroutines = int(found["go_goroutines"])
	u.heap = int64(found["go_memstats_heap_inuse_bytes"])
	u.segments = int(found["mortise_segment_open_files"])
	u.fetches = int64(found["mortise_fetcher_requests_total"])
	u.decisions = int64(found["mortise_consensus_applied_index"])
	u.controls = found["mortise_cluster_active_controller"] == 1
	return lines.Err()
}

// String lists what each node has.
func (all usages) String() string {
	var b strings.Builder
	for i, u := range all {
		fmt.Fprintf(&b, "; node %d: %d MiB of memory (%d MiB heap), %d handles (%d of segments), %d goroutines",
			i+1, u.anonymous>>20, u.heap>>20, u.handles, u.segments, u.goroutines)
	}
	return strings.TrimPrefix(b.String(), "; ")
}

// spent is what nodes have taken in between.
type spent []usage

// since is what was taken since an earlier look; nothing of a node that did not run all
// the time.
func (all usages) since(earlier usages) (s spent) {
	for i, u := range all {
		was := earlier[i]
		if u.cpu < was.cpu {
			u, was = usage{}, usage{}
		}
		s = append(s, usage{cpu: u.cpu - was.cpu, written: u.written - was.written, fetches: u.fetches - was.fetches, decisions: u.decisions - was.decisions})
	}
	return s
}

// cpu is that of all nodes.
func (s spent) cpu() (sum time.Duration) {
	for _, u := range s {
		sum += u.cpu
	}
	return sum
}

// String lists what each node has taken.
func (s spent) String() string {
	var b strings.Builder
	for i, u := range s {
		fmt.Fprintf(&b, "; node %d: %s CPU, %d KiB to disk, %d fetches, %d decisions", i+1, u.cpu, u.written>>10, u.fetches, u.decisions)
	}
	return strings.TrimPrefix(b.String(), "; ")
}
