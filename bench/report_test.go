package main

import (
	"strings"
	"testing"
	"time"
)

func unixNano(n int64) time.Time { return time.Unix(0, n) }

func TestQuantiles(t *testing.T) {
	var l latencies
	if l.at(0.5) != 0 {
		t.Error("no latencies have a median")
	}
	for i := range 100 {
		l = append(l, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 0.999: 100, 1: 100} {
		if got := l.at(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
}

func TestMedianTakesTheMiddle(t *testing.T) {
	all := []result{{bytes: 9, elapsed: 1, cpu: 3}, {bytes: 1, elapsed: 1, cpu: 2}, {bytes: 5, elapsed: 1, cpu: 1}}
	if got := median(all, throughput); got.bytes != 5 || got.cpu != 2 {
		t.Errorf("median is %d bytes, %d CPU, want 5 and 2", got.bytes, got.cpu)
	}
	if got := median(all[:2], throughput); got.bytes != 1 {
		t.Errorf("median of two is %d, want the lower", got.bytes)
	}
}

// twice is a comparison in which ours moves twice the bytes at half the CPU.
func twice() trio {
	ours := result{bytes: 2 * gib, elapsed: time.Second, cpu: time.Second, latency: latencies{time.Millisecond}, requests: 1000}
	theirs := result{bytes: gib, elapsed: time.Second, cpu: time.Second, latency: latencies{4 * time.Millisecond}, requests: 500}
	return trio{ours: ours, theirs: &theirs}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		l    limit
		want string
	}{
		{faster(2), "≥ 2× ✓"}, {faster(2.1), "≥ 2.1× ✗"},
		{cheaper(0.5), "≤ 0.5× CPU ✓"}, {cheaper(0.4), "≤ 0.4× CPU ✗"},
		{quicker(0.25), "p99 ≤ 0.25× ✓"}, {quicker(0.1), "p99 ≤ 0.1× ✗"},
		{cpuEach(time.Millisecond), "≤ 1000 µs ✓"}, {cpuEach(time.Microsecond), "≤ 1 µs ✗"},
		{quantile("p50", 0.5, time.Millisecond), "p50 ≤ 1 ms ✓"}, {quantile("p50", 0.5, time.Microsecond), "p50 ≤ 0.001 ms ✗"},
		{ofBare(0.95), "≥ 95 % of bare sendfile ?"},
	} {
		if got := judge([]limit{c.l}, twice()); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := judge([]limit{faster(2)}, trio{ours: twice().ours}); got != "≥ 2× ?" {
		t.Errorf("without Kafka: %q", got)
	}
}

func TestTable(t *testing.T) {
	c := twice()
	c.bare = &c.ours
	s := consume("consume", 1, 1, faster(1.1), ofBare(0.95))
	lines := strings.Split(options{}.table([]row{s.row(c)}), "\n")
	const want = "| consume | 2147 MB/s, 0.50 CPU s/GiB, p99 1.00 ms | 1074 MB/s, 1.00 CPU s/GiB, p99 4.00 ms | 2.00×, 0.50× CPU; bare loop 2147 MB/s, 0.50 CPU s/GiB, p99 1.00 ms: 100 % | ≥ 1.1× ✓, ≥ 95 % of bare sendfile ✓ |"
	if lines[2] != want {
		t.Errorf("row is\n%s\nwant\n%s", lines[2], want)
	}
}

func TestLifeRows(t *testing.T) {
	m := map[string]measure{}
	for _, n := range lifeNames(1000) {
		m[n.name] = measure{"x", n.most}
	}
	m[idleName] = measure{"31 MiB", 31 << 10}
	rows := lifeRows(lifeNames(1000), m, m)
	if len(rows) != 5 || rows[0].target != "≤ 0.15 s ✓" || rows[1].target != "≤ 30 MiB ✗" || rows[1].ratio != "1.000×" {
		t.Errorf("rows are %+v", rows)
	}
}

func TestCostTable(t *testing.T) {
	calls, err := readTrace(strings.NewReader("syscall calls\n----- -----\npwrite64 200\nread 300\nfutex 1\ntotal 501\n"), 200)
	if err != nil {
		t.Fatal(err)
	}
	got := costTable([]cost{{name: "produce", allocations: 0.5, waits: 1.25, calls: calls}})
	if want := "| produce | 0.50 | 1.25 | 2.50, read 1.50, pwrite64 1.00 |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant the line %s", got, want)
	}
}
