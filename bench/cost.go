package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cost is what one request costs one node, counted from outside while it runs:
// allocations from /metrics, waits from /proc, system calls by strace.
type cost struct {
	name        string
	requests    int64
	allocations float64 // a request
	waits       float64 // of threads, a request
	calls       map[string]float64
}

const costAdmin = "127.0.0.1:29094"

// costLoads are the workloads whose requests are counted.
func costLoads() []scenario {
	base := produceLoad{partitions: partitions, perRequest: 1, records: bareRecords, recordBytes: bareValue, connections: 1, inFlight: 5, totalBytes: 256 * mib}
	wide, tiny, lone := base, base, base
	wide.perRequest, wide.totalBytes = partitions, gib
	tiny.records, tiny.recordBytes, tiny.totalBytes = 1, 100, 20_000*171
	lone = tiny
	lone.inFlight, lone.totalBytes = 1, 10_000*171
	return []scenario{
		produce("produce, 64 KiB, 5 in flight", base),
		produce("produce, 12 × 64 KiB a request, 5 in flight", wide),
		produce("produce, 100 B, 5 in flight", tiny),
		produce("produce, 100 B, 1 in flight", lone),
		consume("fetch, 12 × 1 MiB, 1 reader", 1, 10),
		endToEnd("produce and fetch by turns, 4 KiB", 4<<10, 4*mib, 0.2),
	}
}

// costs counts the workloads of one broker, then those of a cluster.
func (o options) costs() ([]cost, error) {
	o.warmMiB = min(o.warmMiB, warmReadMiB)
	b, _ := o.brokers()
	b.admin = costAdmin
	b.argv = func(dir string) []string {
		return []string{o.mortise, "serve", "--data", dir, "--listen", b.addr, "--admin-address", b.admin}
	}
	all, err := o.costsOf(b, costLoads())
	if err != nil {
		return all, err
	}
	more, err := o.costsOf(o.ourNodes(true), replicatedCostLoads())
	return append(all, more...), err
}

// costsOf counts workloads on a broker, or on the leader of a cluster and one follower.
func (o options) costsOf(b *broker, loads []scenario) ([]cost, error) {
	loads = slices.DeleteFunc(loads, func(s scenario) bool { return !strings.Contains(s.name, o.only) })
	if len(loads) == 0 {
		return nil, nil
	}
	if err := b.fresh(); err != nil {
		return nil, err
	}
	defer b.stop() //nolint:errcheck // a broker that is gone has shown it already
	if err := o.warm(b); err != nil {
		return nil, err
	}
	var all []cost
	for _, s := range loads {
		of, err := o.cost(b, s)
		if err != nil {
			return all, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, of...)
	}
	return all, nil
}

// cost counts a workload twice: once undisturbed, once under strace if there is one.
func (o options) cost(b *broker, s scenario) ([]cost, error) {
	if _, err := s.measure(b); err != nil { // fills the pools
		return nil, err
	}
	topic, err := s.prepare(b)
	if err != nil {
		return nil, err
	}
	counted := b.nodes()[:min(2, len(b.nodes()))]
	asking, before, after := make([]counts, len(counted)), make([]counts, len(counted)), make([]counts, len(counted))
	if err := errors.Join(count(counted, asking), count(counted, before)); err != nil {
		return nil, err
	}
	r, err := s.measureOn(b, topic)
	if err != nil {
		return nil, err
	}
	if err := count(counted, after); err != nil {
		return nil, err
	}
	all := make([]cost, len(counted))
	for i, n := range counted {
		looking := before[i].allocations - asking[i].allocations // what a look at /metrics allocates
		all[i] = cost{name: s.name, requests: r.requests,
			allocations: max(0, after[i].allocations-before[i].allocations-looking) / float64(r.requests),
			waits:       (after[i].waits - before[i].waits) / float64(r.requests)}
		if len(counted) > 1 {
			all[i].name += [...]string{": leader", ": follower"}[i]
		}
		if all[i].calls, err = n.traced(filepath.Join(o.dir, "strace"), b, s); err != nil {
			return all, err
		}
	}
	return all, nil
}

// counts are what a process counts up.
type counts struct{ allocations, waits float64 }

// count takes the counts of some nodes.
func count(nodes []*broker, into []counts) (err error) {
	for i, n := range nodes {
		var err1, err2 error
		into[i].allocations, err1 = metric(n.admin, "go_memstats_mallocs_total")
		into[i].waits, err2 = n.ownWaits()
		err = errors.Join(err, err1, err2)
	}
	return err
}

// metric is one figure of a broker's /metrics.
func metric(admin, name string) (float64, error) {
	resp, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return 0, fmt.Errorf("no %s in /metrics", name)
}

// traced runs s on a broker and returns the system calls per request of one of its
// nodes, which is under strace; nil when there is no strace.
func (n *broker) traced(file string, b *broker, s scenario) (map[string]float64, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return nil, nil
	}
	topic, err := s.prepare(b)
	if err != nil {
		return nil, err
	}
	trace := exec.Command(path, "-f", "-q", "-c", "-U", "name,calls", "-o", file, "-p", strconv.Itoa(n.cmd.Process.Pid))
	if err := trace.Start(); err != nil {
		return nil, err
	}
	time.Sleep(500 * time.Millisecond) // strace does not say when it has attached
	r, err := s.measureOn(b, topic)
	if err != nil {
		return nil, err
	}
	if err := trace.Process.Signal(os.Interrupt); err != nil {
		return nil, err
	}
	_ = trace.Wait() // strace ends by the signal, and says so
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readTrace(f, r.requests)
}

// readTrace reads strace's summary of names and calls.
func readTrace(in io.Reader, requests int64) (map[string]float64, error) {
	calls := map[string]float64{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || fields[0] == "total" {
			continue
		}
		if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			calls[fields[0]] = float64(n) / float64(requests)
		}
	}
	return calls, lines.Err()
}

// costTable prints costs as Markdown; calls that come less than once in a hundred
// requests are left out.
func costTable(all []cost) string {
	var b strings.Builder
	b.WriteString("| requests | allocations | waits | system calls |\n|---|---|---|---|\n")
	for _, c := range all {
		names := make([]string, 0, len(c.calls))
		for name, n := range c.calls {
			if n >= 0.01 {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(x, y string) int {
			if c.calls[x] != c.calls[y] {
				return int(1000 * (c.calls[y] - c.calls[x]))
			}
			return strings.Compare(x, y)
		})
		text, sum := "", 0.0
		for _, name := range names {
			text += fmt.Sprintf(", %s %.2f", name, c.calls[name])
			sum += c.calls[name]
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f%s |\n", c.name, c.allocations, c.waits, sum, text)
	}
	return b.String()
}
