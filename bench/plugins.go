package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pluginRow is a produce workload with something of a plugin's in its way and without,
// in turns.
type pluginRow struct {
	name          string
	with, without []result
	least         float64 // target: share of the throughput
}

// pluginsAdmin is the admin listener of the broker with plugins.
const pluginsAdmin = "127.0.0.1:29098"

// pluginsConfig is a broker that asks another process who may do what, and, every
// second, which segments may go.
const pluginsConfig = `defaults:
  log.retention.check.interval.ms: 1000
security:
  authorizers: [decide]
plugins:
  allow_unverified: true
  catalogue:
    - {name: decide, kind: authorizer, path: %[1]q, args: [none], timeout: 5s, config: {ttl: 60s}}
    - {name: retention, kind: retention, path: %[1]q, args: [none]}
`

// pluginsTable measures what plugins cost those who use them; binary is that of
// conformance/pluginload/faulty.
func (o options) pluginsTable(binary string) (string, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return "", err
	}
	plain, _ := o.brokers()
	config := filepath.Join(o.dir, "plugins.yaml")
	guarded := &broker{name: "plugins", addr: "127.0.0.1:29097", dir: filepath.Join(o.dir, "plugins"),
		argv: func(dir string) []string {
			return []string{o.mortise, "serve", "--config", config, "--data", dir, "--listen", "127.0.0.1:29097", "--admin-address", pluginsAdmin}
		}}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, pluginsConfig, binary), 0o600); err != nil {
		return "", err
	}
	for _, b := range []*broker{plain, guarded} {
		defer b.stop() //nolint:errcheck // a broker that is gone has shown it already
	}
	ruled, err := o.turns("authorizer that is asked, and retention, in a process", 0.99,
		pluginRun{guarded, map[string]string{"mortise.retention.plugin": "retention"}}, pluginRun{plain, nil})
	if err == nil {
		err = pluginsAsked()
	}
	if err != nil {
		return "", err
	}
	counted, err := o.turns("check=count of murmur2", 0.75,
		pluginRun{plain, map[string]string{"mortise.partitioner.check": "count"}}, pluginRun{plain, nil})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString("| produce, 1 KiB records with keys, 64 KiB batches | without | with | throughput: median of pairs (quartiles) | CPU: median (quartiles) | target |\n|---|---|---|---|---|---|\n")
	text.WriteString(ruled.line())
	text.WriteString(counted.line())
	return text.String(), nil
}

// pluginsAsked is an error unless both plugins were asked: else their cost would be that
// of nothing. Retention is asked every second, which a short run may not last.
func pluginsAsked() error {
	for _, name := range []string{"decide", "retention"} {
		calls, err := pluginCalls(name)
		for begin := time.Now(); calls == 0 && err == nil && time.Since(begin) < 5*time.Second; calls, err = pluginCalls(name) {
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("plugin %s: %w", name, err)
		}
		if calls == 0 {
			return fmt.Errorf("plugin %s was never asked", name)
		}
	}
	return nil
}

// pluginCalls is how often a plugin was asked so far.
func pluginCalls(name string) (uint64, error) {
	r, err := http.Get("http://" + pluginsAdmin + "/v1/plugins/" + name)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	var plugin struct{ Calls uint64 }
	err = json.NewDecoder(r.Body).Decode(&plugin)
	return plugin.Calls, err
}

// pluginRun is a topic on a broker.
type pluginRun struct {
	b       *broker
	configs map[string]string
}

// run produces to a new topic and counts the broker's CPU.
func (p pluginRun) run(scale float64) (result, error) {
	s := scenario{run: func(addr, topic string) (result, error) {
		return produceLoad{topic: topic, partitions: partitions, perRequest: 1, records: 63, recordBytes: 1024, keys: true,
			connections: 1, inFlight: 5, totalBytes: max(64*mib, int64(2*gib*scale))}.run(addr)
	}}
	p.b.topics++
	topic := fmt.Sprintf("plugins-%d", p.b.topics)
	if err := createTopicsWith(p.b.addr, partitions, nil, p.configs, topic); err != nil {
		return result{}, err
	}
	return s.measureOn(p.b, topic)
}

// turns measures both by turns. Each pair has new brokers on empty directories: how fast
// one process is, and how full the page cache, differs more than what is measured.
func (o options) turns(name string, least float64, with, without pluginRun) (pluginRow, error) {
	row := pluginRow{name: name, least: least}
	for i := range o.repeat {
		sides := []pluginRun{with, without}
		into := []*[]result{&row.with, &row.without}
		if i%2 == 1 {
			slices.Reverse(sides)
			slices.Reverse(into)
		}
		for _, side := range sides {
			if err := errors.Join(side.b.stop(), side.b.fresh()); err != nil {
				return row, err
			}
		}
		for n := range 2 * len(sides) { // the first of each only warms
			r, err := sides[n%2].run(o.scale)
			if err != nil {
				return row, fmt.Errorf("%s: %w", name, err)
			}
			if n >= len(sides) {
				*into[n%2] = append(*into[n%2], r)
			}
		}
	}
	return row, nil
}

// ratios are with over without of each pair, in order of size.
func (row pluginRow) ratios(figure func(result) float64) (all []float64) {
	for i, with := range row.with {
		all = append(all, 100*figure(with)/figure(row.without[i]))
	}
	slices.Sort(all)
	return all
}

// total is all of the results as one.
func total(all []result) (sum result) {
	for _, r := range all {
		sum.bytes, sum.elapsed, sum.cpu = sum.bytes+r.bytes, sum.elapsed+r.elapsed, sum.cpu+r.cpu
	}
	return sum
}

func (row pluginRow) line() string {
	with, without, pairs := total(row.with), total(row.without), row.ratios(throughput)
	mark := "✓"
	if pairs[len(pairs)/2] < 100*row.least {
		mark = "✗"
	}
	show := func(r result) string {
		return fmt.Sprintf("%.0f MB/s, %.2f CPU s/GiB", throughput(r)/1e6, cpuPerGiB(r))
	}
	middle := func(all []float64) string {
		n := len(all)
		return fmt.Sprintf("%.1f %% (%.0f to %.0f)", all[n/2], all[n/4], all[n-1-n/4])
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | ≥ %.0f %% %s |\n", row.name, show(without), show(with),
		middle(pairs), middle(row.ratios(cpuPerGiB)), 100*row.least, mark)
}
