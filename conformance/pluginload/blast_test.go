package pluginload_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

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
// good, and works again when the plugin does.
func TestBlastRadius(t *testing.T) {
	if !*broken && !*strict {
		t.Skip("make conformance runs it, alone on the machine: the load has deadlines of half a second")
	}
	all := []string{"kill", "exit", "fork", "stop", "hang", "late", "large", "lie", "panic", "error", "garbage", "grow", "leak"}
	for i, name := range []string{"partitioner", "authenticator", "decide", "push", "retention"} {
		for n, fault := range all {
			if !*strict && n%5 != i { // each fault once
				continue
			}
			t.Run(name+"/"+fault, func(t *testing.T) { blast(t, name, fault) })
		}
	}
}

// window is for how long a fault lasts, and how long traffic is measured.
func window() time.Duration {
	if *strict {
		return time.Second
	}
	return 500 * time.Millisecond
}

// rounds is how often a plugin fails in a test.
func rounds() int {
	if *strict {
		return 3
	}
	return 1
}

// blast breaks one plugin beside a load that needs it and one that does not.
func blast(t *testing.T, name, fault string) {
	w := start(t, options{timeout: 500 * time.Millisecond, memory: 96 << 20})
	w.topics()
	w.topic("plain", nil)
	w.serving()
	plain := w.traffic()
	defer plain.end(t)
	var well, broken sample
	for round := range rounds() {
		version := round % 2
		l := w.begin(10 * time.Millisecond)
		l.enough()
		well.add(plain.measure())
		l.may(involved[name]...)
		w.fail(name, fault)
		plain.measure() // a round of the retention may have been on its way
		kept := w.starts(t)
		broken.add(plain.measure())
		if now := w.starts(t); name == "retention" && !slices.Contains(answering, fault) && !slices.Equal(now, kept) {
			t.Errorf("log starts went from %v to %v by a plugin that gives no answer", kept, now)
		}
		w.fail(name, "")
		if fault == "leak" {
			if s := w.status()[name]; s.MemoryPeak < s.MemoryFirst {
				t.Errorf("memory %d, then %d at most", s.MemoryFirst, s.MemoryPeak)
			}
		}
		w.serving() // by itself, as what follows
		l.recovered()
		l.end(t)
		l = w.begin(0) // nothing may fail any more
		l.end(t)
		// Another version, so that a budget of restarts is whole again.
		w.order(w.spec(name, 1-version))
		w.until("the next version serves", func(all map[string]pluginhost.Status) bool { return all[name].Version == versions[1-version] })
	}
	share, slower := well.compare(broken)
	t.Logf("uninvolved traffic: %.0f%% of its throughput, p99 %.1f times (%v, %v)", 100*share, slower, well, broken)
	// One short window on a busy machine says little.
	if share < 0.1 || *strict && (share < 0.95 || slower > 2) {
		t.Errorf("uninvolved traffic: %.0f%% of its throughput, p99 %.1f times", 100*share, slower)
	}
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

// traffic is produce and consume of a topic that needs no plugin.
type traffic struct {
	*load
	clients []*kgo.Client

	mu   sync.Mutex
	took []time.Duration // guarded by mu
}

// producers is how many records of the traffic are on their way at once.
const producers = 2

// traffic begins.
func (w *world) traffic() *traffic {
	f := &traffic{load: w.idle()}
	for range producers {
		c := w.client(open)
		f.clients = append(f.clients, c)
		f.run("records", func(n int) {
			begin := time.Now()
			f.is("records", "plain", c.ProduceSync(f.ctx, &kgo.Record{Topic: "plain", Partition: int32(n % 4), Value: make([]byte, 1024)}).FirstErr(), nil)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.took = append(f.took, time.Since(begin))
		})
	}
	reader := w.client(open, kgo.ConsumeTopics("plain"))
	f.clients = append(f.clients, reader)
	f.run("plain polls", func(int) {
		for _, e := range reader.PollFetches(f.ctx).Errors() {
			f.is("plain polls", e.Topic, e.Err, nil)
		}
	})
	return f
}

// end stops the traffic.
func (f *traffic) end(t *testing.T) {
	f.load.end(t)
	for _, c := range f.clients {
		c.Close()
	}
}

// sample is what the traffic got through.
type sample struct {
	took    []time.Duration
	elapsed time.Duration
}

// add puts two samples together.
func (s *sample) add(o sample) {
	s.took, s.elapsed = append(s.took, o.took...), s.elapsed+o.elapsed
}

// measure takes a sample of one window.
func (f *traffic) measure() sample {
	f.mu.Lock()
	f.took = nil
	f.mu.Unlock()
	begin := time.Now()
	<-time.After(window())
	f.mu.Lock()
	defer f.mu.Unlock()
	return sample{f.took, time.Since(begin)}
}

// rate is records a second.
func (s sample) rate() float64 { return float64(len(s.took)) / s.elapsed.Seconds() }

// p99 is the time that one of a hundred takes longer than.
func (s sample) p99() time.Duration {
	if len(s.took) == 0 {
		return s.elapsed
	}
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[len(sorted)*99/100]
}

// compare is which share of s's throughput o has, and how many times its p99.
func (s sample) compare(o sample) (share, slower float64) {
	return o.rate() / s.rate(), float64(o.p99()) / float64(s.p99())
}

func (s sample) String() string { return fmt.Sprintf("%.0f records/s, p99 %v", s.rate(), s.p99()) }

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
