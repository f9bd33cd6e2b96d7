package telemetry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/metrics"
)

// display is a Shown with a clock of the test's.
type display struct {
	*Shown
	clock *clock.Manual
}

func newDisplay() *display {
	c := clock.NewManual(time.Unix(1000, 0))
	return &display{newShown(c, metrics.NewRegistry()), c}
}

// push shows a push of instance n.
func (d *display) push(t *testing.T, n byte, data []byte) {
	t.Helper()
	p, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	d.take(Client{ID: "c", SoftwareName: "kgo"}, InstanceID{n}, p, time.Minute)
}

// text is all that is shown but what is known of clients, with the first letters of
// their ids.
func (d *display) text() string {
	var b strings.Builder
	for _, f := range d.Families() {
		if f.Name == InfoName {
			continue
		}
		for _, s := range f.Series {
			fmt.Fprintf(&b, "%s %d", strings.TrimPrefix(f.Name, Prefix), f.Kind)
			for _, l := range s.Labels {
				fmt.Fprintf(&b, " %s=%.2s", l.Name, l.Value)
			}
			fmt.Fprintf(&b, " %v\n", s.Value)
		}
	}
	return b.String()
}

// TestShown: gauges are the last value, deltas add up, totals stand for themselves.
func TestShown(t *testing.T) {
	for _, c := range []struct {
		what   string
		pushes [][]byte
		want   string
	}{
		{"a gauge", [][]byte{gauge("a.b-c", 1), gauge("a.b-c", 2)}, "a_b_c 1 client_instance_id=AQ 2\n"},
		{"a delta", [][]byte{sum("n", 3, 1, 1), sum("n", 4, 1, 1)}, "n 0 client_instance_id=AQ 7\n"},
		{"a total", [][]byte{sum("n", 3, 2, 1), sum("n", 4, 2, 1)}, "n 0 client_instance_id=AQ 4\n"},
		{"a sum that goes down", [][]byte{sum("n", 3, 1, 0), sum("n", -1, 1, 0)}, "n 1 client_instance_id=AQ 2\n"},
		{"attributes in any order", [][]byte{sum("n", 1, 1, 1, label(7, "x", "1"), label(7, "y", "2")), sum("n", 1, 1, 1, label(7, "y", "2"), label(7, "x", "1"))},
			"n 0 client_instance_id=AQ x=1 y=2 2\n"},
		{"names that can't be", [][]byte{gauge("", 1, label(7, "__name__", "a"), label(7, "1", "b"), label(7, "-", "c"), label(7, "client.instance.id", "d"), label(7, "x", "e"), label(7, "x", "f"))},
			" 1 client_instance_id=AQ _1=b name__=a x=e 1\n"},
		{"the name of ours", [][]byte{gauge("info", 1)}, ""},
	} {
		d := newDisplay()
		for _, p := range c.pushes {
			d.push(t, 1, p)
		}
		if got := d.text(); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.what, got, c.want)
		}
	}
}

// TestSeriesAreToldApart when the length of one's value reads as the end of the other's
// name.
func TestSeriesAreToldApart(t *testing.T) {
	d, text := newDisplay(), strings.Repeat("y", '`')
	d.push(t, 1, gauge("n", 1, label(7, "x", "`"+text)))
	d.push(t, 1, gauge("n", 2, label(7, "xa", text)))
	if d.count() != 2 {
		t.Errorf("%v series, want 2:\n%s", d.count(), d.text())
	}
}

// TestKindsOfOneName: what is a gauge for one client is no counter.
func TestKindsOfOneName(t *testing.T) {
	d := newDisplay()
	d.push(t, 1, sum("n", 1, 1, 1))
	d.push(t, 2, gauge("n", 1))
	if got := d.text(); strings.Contains(got, "n 0") {
		t.Errorf("shown:\n%s", got)
	}
}

// TestInfo has what is known of a client.
func TestInfo(t *testing.T) {
	d := newDisplay()
	d.push(t, 1, gauge("a", 1))
	all := d.Families()
	got := fmt.Sprint(all[slices.IndexFunc(all, func(f metrics.Family) bool { return f.Name == InfoName })])
	want := "{mortise_client_info A client that pushes its metrics; what is known of it is in the labels. 1 [{[{client_instance_id AQAAAAAAAAAAAAAAAAAAAA} {client_id c} {client_software_name kgo} {client_software_version unknown} {client_source_address invalid IP} {client_rack r1}] 1 0 0 []}]}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSilentClientsGo after a while, with all that they had.
func TestSilentClientsGo(t *testing.T) {
	d := newDisplay()
	d.push(t, 1, gauge("a", 1))
	d.clock.Advance(30 * time.Second)
	d.push(t, 2, gauge("a", 2))
	d.clock.Advance(30 * time.Second)
	if got := d.text(); got != "a 1 client_instance_id=Ag 2\n" {
		t.Errorf("shown:\n%s", got)
	}
	d.clock.Advance(30 * time.Second)
	if f := d.Families(); f != nil || d.count() != 0 || d.bytes != 0 || d.order.Len() != 0 {
		t.Errorf("shown: %v; %d bytes", f, d.bytes)
	}
}

// many is a push of n gauges with a text each.
func many(from, n int, text string) []byte {
	var metrics [][]byte
	for i := range n {
		metrics = append(metrics, in(2, in(1, fmt.Appendf(nil, "m%d", from+i)), in(5, in(1, fixed(4, math.Float64bits(1)), label(7, "x", text)))))
	}
	return data(metrics...)
}

// TestBoundOfOneClient: its own oldest series make room.
func TestBoundOfOneClient(t *testing.T) {
	d := newDisplay()
	d.push(t, 2, gauge("other", 1))
	d.push(t, 1, many(0, SeriesOfOne, ""))
	d.push(t, 1, many(SeriesOfOne, 10, ""))
	if d.count() != SeriesOfOne+1 || d.dropped.Load() != 10 {
		t.Errorf("%v series, %d dropped", d.count(), d.dropped.Load())
	}
	if got := d.text(); strings.Contains(got, "m9 ") || !strings.Contains(got, "m10 ") || !strings.Contains(got, "other ") {
		t.Error("not the oldest ones went")
	}
}

// TestBoundsOfAll: who pushed longest ago makes room, by number and by size.
func TestBoundsOfAll(t *testing.T) {
	d := newDisplay()
	clients := SeriesMax/SeriesOfOne + 1
	for n := range clients {
		d.push(t, byte(n), many(0, SeriesOfOne, ""))
	}
	if _, there := d.clients[InstanceID{0}]; there || d.count() != SeriesMax || len(d.clients) != clients-1 {
		t.Errorf("%v series of %d clients", d.count(), len(d.clients))
	}
	d = newDisplay()
	for n := range clients {
		var labels [][]byte
		for i := range attributesMax {
			labels = append(labels, label(7, fmt.Sprint("x", i), strings.Repeat("y", TextMax)))
		}
		for i := range SeriesOfOne / 10 {
			d.push(t, byte(n), gauge(fmt.Sprint("m", i), 1, labels...))
		}
	}
	if d.bytes > BytesMax || len(d.clients) == 0 {
		t.Errorf("%d bytes of %d clients", d.bytes, len(d.clients))
	}
	d = newDisplay()
	for n := range ShownMax + 3 {
		p, err := decode(gauge("a", 1))
		if err != nil {
			t.Fatal(err)
		}
		d.take(Client{}, InstanceID{byte(n), byte(n >> 8), 1}, p, time.Minute)
	}
	if len(d.clients) != ShownMax || d.dropped.Load() != 3 {
		t.Errorf("%d clients, %d dropped", len(d.clients), d.dropped.Load())
	}
}
