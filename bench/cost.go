package main

import (
	"bufio"
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

// cost is what one request costs Mortise, counted from outside on a running
// broker: allocations from /metrics, system calls by strace.
type cost struct {
	name        string
	requests    int64
	allocations float64 // a request
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

// costs counts each workload twice: once undisturbed for allocations, once under
// strace if there is one.
func (o options) costs() ([]cost, error) {
	b, _ := o.brokers()
	b.argv = func(dir string) []string {
		return []string{o.mortise, "serve", "--data", dir, "--listen", b.addr, "--admin-address", costAdmin}
	}
	if err := b.fresh(); err != nil {
		return nil, err
	}
	defer b.stop() //nolint:errcheck // a broker that is gone has shown it already
	o.warmMiB = warmReadMiB
	if err := o.warm(b); err != nil {
		return nil, err
	}
	var out []cost
	for _, s := range costLoads() {
		c, err := o.cost(b, s)
		if err != nil {
			return out, fmt.Errorf("%s: %w", s.name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (o options) cost(b *broker, s scenario) (cost, error) {
	if _, err := s.measure(b); err != nil { // fills the pools
		return cost{}, err
	}
	topic, err := s.prepare(b)
	if err != nil {
		return cost{}, err
	}
	first, err := metric("go_memstats_mallocs_total")
	if err != nil {
		return cost{}, err
	}
	before, err := metric("go_memstats_mallocs_total")
	if err != nil {
		return cost{}, err
	}
	asking := before - first // what a look at /metrics allocates
	r, err := s.measureOn(b, topic)
	if err != nil {
		return cost{}, err
	}
	after, err := metric("go_memstats_mallocs_total")
	if err != nil {
		return cost{}, err
	}
	c := cost{name: s.name, requests: r.requests, allocations: max(0, after-before-asking) / float64(r.requests)}
	c.calls, err = b.traced(filepath.Join(o.dir, "strace"), s)
	return c, err
}

// metric is one figure of the broker's /metrics.
func metric(name string) (float64, error) {
	resp, err := http.Get("http://" + costAdmin + "/metrics")
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

// traced runs s under strace and returns the system calls per request; nil when
// there is no strace.
func (b *broker) traced(file string, s scenario) (map[string]float64, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return nil, nil
	}
	topic, err := s.prepare(b)
	if err != nil {
		return nil, err
	}
	trace := exec.Command(path, "-f", "-q", "-c", "-U", "name,calls", "-o", file, "-p", strconv.Itoa(b.cmd.Process.Pid))
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
	b.WriteString("| requests | allocations | system calls |\n|---|---|---|\n")
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
		fmt.Fprintf(&b, "| %s | %.2f | %.2f%s |\n", c.name, c.allocations, sum, text)
	}
	return b.String()
}
