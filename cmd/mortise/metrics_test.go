package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rewrite makes TestMetricsReference write the reference in place of comparing.
var rewrite = flag.Bool("rewrite", false, "write the pages of docs that tests write")

const metricsReference = "../../docs/metrics.md"

// TestMetricsReference holds docs/metrics.md to what a node that has worked
// shows: a metric that is new, gone or means something else changes the page.
//
//	go test ./cmd/mortise -run MetricsReference -rewrite
func TestMetricsReference(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mortise.yaml")
	write(t, config, "cluster: {listen: \"127.0.0.1:0\"}\ntelemetry: {clients: true}\ndefaults: {offsets.topic.replication.factor: 1}\n")
	s := serve(t, "--config", config, "--data", t.TempDir())
	must(t, s.clients, "", "topic", "create", "t")
	must(t, s.clients, "x\n", "produce", "t")
	must(t, s.clients, "", "consume", "t", "-e")
	commitAt(t, s.clients, "g", "t", 0)
	run(t, s.clients, "", "topic", "describe", "nosuch") // is refused, and counted
	got := metricsPage(scrape(t, s.admin+"/metrics?partitions=true"))
	s.stop()
	if *rewrite {
		write(t, metricsReference, got)
		return
	}
	want, err := os.ReadFile(metricsReference)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("docs/metrics.md is not what a node shows (-rewrite writes it anew):\n%s", difference(string(want), got))
	}
}

// family is a metric as the page tells it.
type family struct {
	name, kind, help string
	labels           map[string]bool
}

var (
	helpLine = regexp.MustCompile(`^# HELP (\S+) (.*)$`)
	typeLine = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	sample   = regexp.MustCompile(`^([a-z_]+)\{(.*)\}`)
	label    = regexp.MustCompile(`([a-z_]+)="`)
	suffix   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// scrape gives our own families of a page of Prometheus text, by name.
func scrape(t *testing.T, url string) []*family {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*family{}
	for _, line := range strings.Split(string(body), "\n") {
		if m := helpLine.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], "mortise_") {
			found[m[1]] = &family{name: m[1], help: m[2], labels: map[string]bool{}}
		}
		if m := typeLine.FindStringSubmatch(line); m != nil && found[m[1]] != nil {
			found[m[1]].kind = m[2]
		}
		if m := sample.FindStringSubmatch(line); m != nil {
			if f := cmp.Or(found[m[1]], found[suffix.ReplaceAllString(m[1], "")]); f != nil {
				for _, l := range label.FindAllStringSubmatch(m[2], -1) {
					f.labels[l[1]] = l[1] != "le"
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *family) int { return cmp.Compare(a.name, b.name) })
}

// metricsPage is the reference for the families.
func metricsPage(families []*family) string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nWhat `/metrics` on the admin listener shows, beside Go's own `go_*` and `process_*`. " +
		"The `mortise_partition_*` series come only with `/metrics?partitions=true`: there are four for each partition.\n\n" +
		"`mortise_group_lag_records` is how far groups are behind, without an exporter: the high watermark less the committed offset, " +
		"added up over the partitions of a topic, for groups of both protocols. A broker shows the groups that it coordinates, so a query sums over brokers. " +
		"It is added up when somebody asks, once in 5 seconds at most; 5,000 groups with 3 topics of 4 partitions take 9 ms. " +
		"At most 1000 pairs of group and topic are shown, those that are farthest behind; of pairs that are about as far behind, the ones that were shown before stay. " +
		"`mortise_group_lag_hidden_pairs` says how many there are beside them.\n\n" +
		"With `telemetry.clients` clients may push metrics of their own (KIP-714), and `kafka-client-metrics` says which ones push what. " +
		"They are shown as `mortise_client_` and the client's name for the metric, with underscores for what a name can't have: " +
		"`mortise_client_org_apache_kafka_consumer_fetch_manager_fetch_latency_avg`. Labels are `client_instance_id` and what the client says of the number. " +
		"`mortise_client_info` has what is known of each client as labels, to be joined by `client_instance_id`. " +
		"What only grows is a counter since the broker first heard of it. A client that says nothing for three intervals, one minute at least, is gone. " +
		"At most 1000 clients, 2000 series of one client, 20000 series and 32 MB of all are shown; what was pushed longest ago makes room. " +
		"Histograms are not shown; clients of Kafka push none.\n\n" +
		"A test writes this page and holds it to a running node: `go test ./cmd/mortise -run MetricsReference -rewrite`.\n\n" +
		"| name | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		var labels []string
		for _, l := range slices.Sorted(maps.Keys(f.labels)) {
			if f.labels[l] {
				labels = append(labels, l)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, f.kind, strings.Join(labels, ", "), f.help)
	}
	return b.String()
}

// difference lists the lines that only one of two texts has.
func difference(want, got string) string {
	wanted, present := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	for _, line := range wanted {
		if !slices.Contains(present, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range present {
		if !slices.Contains(wanted, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}
