package pluginload_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/core/pluginhost"
)

// involved are the parts of the load that may fail while a plugin does: the failure
// table. Nothing needs the retention. The rules that were pushed count on.
var involved = map[string][]string{
	"partitioner":   {"keys"},
	"authenticator": {"logins"},
	"decide":        {"keys", "no keys", "counted", "rules", "denied", "segments", "polls", "logins"},
	"push":          nil,
	"retention":     nil,
}

// everything is all parts of the load.
var everything = []string{"keys", "no keys", "counted", "rules", "denied", "segments", "polls", "logins"}

// answering are the faults with which right answers still come.
var answering = []string{"garbage", "leak", "grow"}

// TestBlastRadius lets each plugin do each wrong: only what needs it may fail, not for
// good, and works again when the plugin does. A pair that fails stops no other; with
// -strict the last lines are a table of all.
func TestBlastRadius(t *testing.T) {
	if !*broken && !*strict {
		t.Skip("make conformance runs it, alone on the machine: the load has deadlines of half a second")
	}
	all := []string{"kill", "exit", "fork", "stop", "hang", "late", "large", "lie", "panic", "error", "garbage", "grow", "leak"}
	table := []string{"| plugin | fault | rounds | throughput | p99 | without | with |", "|---|---|---|---|---|---|---|"}
	for i, name := range []string{"partitioner", "authenticator", "decide", "push", "retention"} {
		for n, fault := range all {
			if !*strict && n%5 != i { // each fault once
				continue
			}
			var seen tally
			passed := t.Run(name+"/"+fault, func(t *testing.T) { blast(t, name, fault, &seen) })
			if !passed || seen.rounds > 0 { // or it was not asked for
				table = append(table, fmt.Sprintf("| %s | %s %s |", name, fault, seen.line(passed)))
			}
		}
	}
	t.Logf("traffic that needs no plugin, beside a plugin that is well and one that is not:\n%s", strings.Join(table, "\n"))
}

// Rounds of a strict test: at least so many, and more while a bound is missed, because
// a machine has other things to do now and then. All of them count.
const (
	roundsMin = 3
	roundsMax = 7
)

// window is for how long a fault lasts, and how long traffic is measured. What a plugin
// costs whose memory grows is the pages that the system gives it, until it has come to
// its limit, once for each start: the starts become rare within seconds.
func window(fault string) time.Duration {
	switch {
	case !*strict:
		return 500 * time.Millisecond
	case fault == "grow":
		return 3 * time.Second
	}
	return time.Second
}

// blast breaks one plugin beside a load that needs it and one that does not.
func blast(t *testing.T, name, fault string, seen *tally) {
	// Those that are well are waited for, however busy the machine is.
	o := options{timeout: 500 * time.Millisecond, only: name, memory: 96 << 20}
	if fault == "grow" {
		// Its plugin is one that had served for long. What an upgrade between two rounds
		// leaves standing by would come back at once, and grow as well.
		o.bake = -1
	}
	w := start(t, o)
	w.topics()
	w.topic("plain", nil)
	w.serving()
	plain := w.traffic()
	defer plain.end(t)
	for !seen.enough() {
		w.round(t, name, fault, seen.rounds%2, plain, seen)
	}
	t.Log(seen)
	// One short window on a busy machine says little, and a machine may stand still in one.
	if share, _ := seen.compare(); share < shareLeft || *strict && !seen.within() {
		t.Errorf("uninvolved traffic: %v", seen)
	}
}

// round lets a plugin, which has a version now, fail once, and measures the traffic
// before, meanwhile and after: what else the machine does changes slowly.
func (w *world) round(t *testing.T, name, fault string, version int, plain *traffic, seen *tally) {
	t.Helper()
	l := w.begin(10 * time.Millisecond)
	l.enough()
	lasts := window(fault)
	well := plain.measure(lasts)
	l.may(involved[name]...)
	w.fail(name, fault)
	broken := plain.measure(lasts)
	if name == "retention" && !slices.Contains(answering, fault) { // a round of it may have been on its way until now
		kept := w.starts(t)
		broken.add(plain.measure(lasts))
		if now := w.starts(t); !slices.Equal(now, kept) {
			t.Errorf("log starts went from %v to %v by a plugin that gives no answer", kept, now)
		}
	}
	w.fail(name, "")
	if fault == "leak" {
		if s := w.status()[name]; s.MemoryPeak < s.MemoryFirst {
			t.Errorf("memory %d, then %d at most", s.MemoryFirst, s.MemoryPeak)
		}
	}
	w.serving() // by itself, as what follows
	l.recovered()
	well.add(plain.measure(lasts))
	l.end(t)
	seen.add(well, broken)
	if fault == "grow" { // what it holds may end it yet
		w.upgraded(name, 1-version)
	}
	l = w.begin(0) // nothing may fail any more
	l.end(t)
	if fault != "grow" {
		w.upgraded(name, 1-version)
	}
}

// upgraded makes another version serve, whose budget of restarts is whole.
func (w *world) upgraded(name string, version int) {
	w.t.Helper()
	w.order(w.spec(name, version))
	w.until("the next version serves", func(all map[string]pluginhost.Status) bool { return all[name].Version == versions[version] })
}

// starts are the log starts of the topic that the retention decides about.
func (w *world) starts(t *testing.T) (all []int64) {
	t.Helper()
	c := w.client(open)
	defer c.Close()
	listed, err := kadm.NewClient(c).ListStartOffsets(t.Context(), "rolled")
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(4) {
		o, _ := listed.Lookup("rolled", p)
		all = append(all, o.Offset)
	}
	return all
}

// ours are the processes that were told of the world's directory.
func (w *world) ours() (all []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), w.dir) {
			all = append(all, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return all
}

// forked says whether a child of a plugin lives.
func (w *world) forked() bool {
	return slices.ContainsFunc(w.ours(), func(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), " 600") })
}
