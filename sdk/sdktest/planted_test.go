package sdktest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestMain is the tests, or, started by one of them, a program with a fault.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "planted" {
		os.Exit(runPlanted(os.Args[2]))
	}
	os.Exit(m.Run())
}

// fault is a plugin that does one thing wrong, and the case that must find it.
type fault struct {
	name   string
	finds  string // name of the case
	says   string // part of why
	plugin plugin.Plugin
	config string
	facts  Facts
	way    string // empty: Values
	// late: that a wait runs out is what finds it. Only then it is short: what has to
	// come in time elsewhere gets the time of a busy machine.
	late func(w *waits)
}

// Waits that run out.
func lateReturn(w *waits) { w.grace, w.drain, w.stop = shortWait, shortWait, shortWait }
func lateClose(w *waits)  { w.settle, w.stop = shortWait, shortWait }
func lateNews(w *waits)   { w.news = shortWait }
func lateEnd(w *waits)    { w.end, w.stop = shortWait, shortWait }

const shortWait = 300 * time.Millisecond

// TestPlantedFaultsAreFound runs, against each bad plugin, the case that must fail; there
// is one for each case.
func TestPlantedFaultsAreFound(t *testing.T) {
	all := [][]fault{baseFaults(t), robustFaults(t), partitionerFaults(), authenticatorFaults(), authorizerFaults(), retentionFaults(), programFaults(t)}
	found := map[string]bool{}
	for _, faults := range all {
		for _, f := range faults {
			found[f.finds] = true
			t.Run(f.name, func(t *testing.T) { f.mustBeFound(t) })
		}
	}
	for _, c := range checks() {
		if !found[c.name] {
			t.Errorf("no fault that %s must find", c.name)
		}
	}
}

func (f fault) mustBeFound(t *testing.T) {
	source := Values(f.plugin)
	switch f.way {
	case WayInProcess:
		source = InProcess(f.plugin)
	case WayProgram:
		source = planted(t, f.name)
	}
	b := newBench(Subject{Source: source, Kind: f.plugin.Kind, Config: []byte(f.config), Facts: f.facts})
	b.waits.memory = caseTimeout / 2
	if f.late != nil {
		f.late(&b.waits)
	}
	r := checkWith(t.Context(), b, named(t, f.finds))
	if len(r.Cases) != 1 || r.Passed() {
		t.Fatalf("%s does not find it: %+v", f.finds, r.Cases)
	}
	if c := r.Cases[0]; c.Outcome != Fail || !strings.Contains(c.Why, f.says) {
		t.Errorf("%s: %q, want %q in it", c.Outcome, c.Why, f.says)
	}
}

// named is the case of that name.
func named(t *testing.T, name string) []check {
	t.Helper()
	for _, c := range checks() {
		if c.name == name {
			return []check{c}
		}
	}
	t.Fatalf("no case %s", name)
	return nil
}

// planted is this binary as a program with a fault.
func planted(t *testing.T, name string) Source {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Program(host.Command{Path: path, Args: []string{"planted", name},
		Env: []string{"GORACE=atexit_sleep_ms=0"}}) // the race detector's processes linger for a second
}

// TestGoodPluginsPass: the plugins in which faults are planted have none without.
func TestGoodPluginsPass(t *testing.T) {
	for _, f := range []fault{
		{name: "partitioner", plugin: goodPartitioner().plugin()},
		{name: "authenticator", plugin: goodAuthenticator().plugin(), facts: aliceFacts()},
		{name: "authorizer", plugin: goodAuthorizer().plugin()},
		{name: "retention", plugin: goodRetention().plugin()},
	} {
		for _, source := range []Source{Values(f.plugin), InProcess(f.plugin), planted(t, "good-"+f.name)} {
			Run(t, source, f.plugin.Kind, f.plugin.Name, `{}`, f.facts)
		}
	}
}

// TestFaultAfterFault: a plugin that hangs, panics and dies ends no Check, and a case
// that was found broken does not spoil the next.
func TestFaultAfterFault(t *testing.T) {
	p := goodPartitioner()
	p.assign = func(question) { panic("no") }
	r := Check(t.Context(), Subject{Source: Values(p.plugin()), Kind: plugin.Partitioner})
	if r.Passed() || r.count(Fail) != 1 {
		t.Errorf("%d cases fail, want the one that asks first", r.count(Fail))
	}
	for _, c := range r.Cases {
		if c.Name == "partitioner/range" && c.Outcome != Skip {
			t.Errorf("%s: %s, want a skip", c.Name, c.Outcome)
		}
	}
}

// TestACheckThatIsOver fails what did not run.
func TestACheckThatIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Check(ctx, Subject{Source: Values(goodRetention().plugin()), Kind: plugin.Retention})
	if r.Passed() || r.count(Pass) != 0 || !strings.Contains(r.Cases[0].Why, "not run") {
		t.Errorf("%+v", r.Cases)
	}
}
