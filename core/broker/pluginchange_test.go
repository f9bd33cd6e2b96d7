package broker_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// change asks the admin listener for a change of a plugin. why is the error, or the
// problem of the outcome.
func change(t *testing.T, b *brokertest.Broker, name, action, body string) (status int, o broker.PluginOutcome, why string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.AdminAddr()+"/v1/plugins/"+name+"/"+action, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+brokertest.AdminToken)
	r, err := b.HTTP().Do(q)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
		return
	}
	var refused struct{ Error string }
	if err := json.Unmarshal(text, &refused); err != nil || json.Unmarshal(text, &o) != nil {
		t.Errorf("%v in %s", err, text)
	}
	return r.StatusCode, o, refused.Error + o.Problem
}

// withOldest is a broker with one retention plugin, mine, of its settings.
func withOldest(t *testing.T) *brokertest.Broker {
	return brokertest.Start(t, brokertest.Options{Admin: true, Loopback: true, Plugins: broker.Plugins{
		Builtins:  []plugin.Plugin{oldest(new(atomic.Int64))},
		Catalogue: []pluginhost.Spec{{Name: "mine", Kind: plugin.Retention, Builtin: "oldest", Enabled: true, Config: json.RawMessage(`{"segments": 0}`)}}}})
}

// What can't be is refused before anything is changed, and says why.
func TestChangesThatAreRefused(t *testing.T) {
	b := withOldest(t)
	const good = `{"entry": {"name": "x", "kind": "retention", "builtin": "oldest"}}`
	for _, c := range []struct {
		name, action, body string
		status             int
		want               string
	}{
		{"x", "enable", `{}`, 404, "no entry x"},
		{"x", "remove", `{}`, 404, "no entry x"},
		{"x", "restart", `{}`, 404, "no entry x"},
		{"x", "install", `{}`, 400, "kind"},
		{"x", "install", `{"entry": {"name": "y", "kind": "retention", "builtin": "oldest"}}`, 400, `named "y"`},
		{"x", "install", `{"entry": {"kind": "retention", "builtin": "nosuch"}}`, 400, "is compiled in"},
		{"x", "install", `{"entry": {"kind": "retention", "builtin": "oldest", "config": {"nosuch": 1}}}`, 400, "nosuch"},
		{"x", "install", `{"entry": {"kind": "retention", "path": "/nosuch"}}`, 400, "no sha256"},
		{"x", "install", `{"entry": {"kind": "retention", "builtin": "oldest", "nosuch": 1}}`, 400, "nosuch"},
		{"x", "install", `{"entry": [1]}`, 400, "entry"},
		{"x", "install", `{"changed": 5, "entry": {"kind": "retention", "builtin": "oldest"}}`, 409, "seen 5"},
		{"mine", "disable", `{}`, 409, "this broker's settings"},
		{"mine", "remove", `{"override": true}`, 409, "take it out of the file"},
		{"mine", "install", good, 409, "this broker's settings"},
		{"mine", "upgrade", `{"override": true}`, 400, "nothing to upgrade"},
		{"mine", "upgrade", `{"override": true, "entry": {"kind": null}}`, 400, "kind"},
		{"mine", "enable", `{"override": true, "entry": {}}`, 400, "takes no entry"},
		{"mine", "rollback", `{"override": true}`, 409, "no version to go back to"},
		{"mine", "rollback", `{"override": true, "dry_run": true}`, 409, "no version to go back to"},
		{"mine", "restart", `{"dry_run": true}`, 400, "nothing to check"},
	} {
		status, o, why := change(t, b, c.name, c.action, c.body)
		if status != c.status || !strings.Contains(why, c.want) || o.Plugin != nil {
			t.Errorf("%s %s %s: %d %q; want %d with %q", c.name, c.action, c.body, status, why, c.status, c.want)
		}
	}
	if n := b.Control.Image().PluginCount(); n != 0 {
		t.Errorf("the catalogue has %d entries", n)
	}
	if status, o, why := change(t, b, "x", "install", strings.Replace(good, "{", `{"dry_run": true,`, 1)); status != 200 || why != "" || o.Found == nil || b.Control.Image().PluginCount() != 0 {
		t.Errorf("dry run: %d %q, found %v", status, why, o.Found)
	}
}

// Of changes at once that saw the same, one is made.
func TestChangesAtOnce(t *testing.T) {
	b := withOldest(t)
	if status, o, why := change(t, b, "x", "install", `{"entry": {"kind": "retention", "builtin": "oldest"}}`); status != 200 || why != "" || !o.Plugin.Serves() {
		t.Fatalf("%d %q %+v", status, why, o.Plugin)
	}
	entry, _ := b.Control.Image().Plugin("x")
	var statuses [2]int
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() {
			statuses[i], _, _ = change(t, b, "x", "upgrade", fmt.Sprintf(`{"changed": %d, "entry": {"queue": %d}}`, entry.Changed, i+1))
		})
	}
	wg.Wait()
	slices.Sort(statuses[:])
	if statuses != [2]int{200, 409} {
		t.Errorf("%v, want one made and one refused", statuses)
	}
	if now, _ := b.Control.Image().Plugin("x"); now.Changed == entry.Changed {
		t.Error("nothing was changed")
	}
}

// What somebody wrote into the catalogue past all checks is shown with what is wrong
// with it, and can be removed.
func TestAnEntryThatNobodyCanRead(t *testing.T) {
	b := withOldest(t)
	if errs, err := b.Control.AlterPlugins(t.Context(), []meta.PluginChange{{Name: "bad", Spec: `{"name": "bad", "more": 1}`}}); err != nil || errs[0] != nil {
		t.Fatal(err, errs)
	}
	if status, _, why := change(t, b, "bad", "enable", `{}`); status != 400 || !strings.Contains(why, "kind") {
		t.Errorf("enabled: %d %q", status, why)
	}
	// Which is answered when the broker has carried out all of the catalogue.
	if status, _, why := change(t, b, "good", "install", `{"entry": {"kind": "retention", "builtin": "oldest"}}`); status != 200 || why != "" {
		t.Fatalf("%d %s", status, why)
	}
	_, h := health(t, b)
	if len(h.Problems) != 1 || h.Problems[0].Kind != "plugin-not-as-wanted" || !strings.Contains(h.Problems[0].What, "plugin bad is stopped") {
		t.Errorf("%+v, want the entry among the problems", h.Problems)
	}
	if status, body := page(t, b, "/v1/plugins/bad"); status != 200 || !strings.Contains(body, `"from": "cluster"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, o, why := change(t, b, "bad", "remove", `{}`); status != 200 || o.Plugin != nil || why != "" {
		t.Errorf("removed: %d %q %+v", status, why, o.Plugin)
	}
}

// Whoever waits for a plugin that does not serve is named, with what to look at.
func TestHealthNamesWhoLacksAPlugin(t *testing.T) {
	b := withOldest(t)
	b.CreateTopic("kept", 1, map[string]string{"mortise.retention.plugin": "mine"})
	b.CreateTopic("lost", 1, map[string]string{"mortise.retention.plugin": "nosuch"})
	b.CreateTopic("checked", 1, map[string]string{"mortise.partitioner": "mine", "mortise.partitioner.check": "count"})
	b.CreateTopic("free", 1, map[string]string{"mortise.partitioner": "other", "mortise.partitioner.check": "off"})
	problems := func() (all []string) {
		_, h := health(t, b)
		for _, p := range h.Problems {
			if p.Kind == "plugin-not-serving" {
				all = append(all, p.What)
			}
		}
		return all
	}
	want := []string{
		"topic checked: the partitioner mine does not serve (the entry of this name is of the kind retention)",
		"topic lost: the retention nosuch does not serve (no entry has this name)",
	}
	if got := problems(); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("%q, want %q", got, want)
	}
	if status, _, why := change(t, b, "mine", "disable", `{"override": true}`); status != 200 || why != "" {
		t.Fatalf("%d %s", status, why)
	}
	want = append(want, "topic kept: the retention mine does not serve (disabled)")
	if got := problems(); !slices.Contains(got, want[2]) {
		t.Errorf("%q, want %q among them", got, want[2])
	}
	if _, body := page(t, b, "/v1/plugins/mine"); !strings.Contains(body, `"topic kept"`) {
		t.Errorf("who uses it is not in\n%s", body)
	}
}

// A listener whose authenticator is gone is named before anybody complains.
func TestHealthNamesAListenerWithoutAuthenticator(t *testing.T) {
	synctest.Test(t, listenerWithoutAuthenticator) // the start waits for plugins that don't come
}

func listenerWithoutAuthenticator(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Admin: true,
		SASL:     &broker.SASL{Mechanisms: []string{"PLAIN"}, Plugin: "users"},
		Security: broker.Security{Plugins: []string{"acl"}}})
	_, h := health(t, b)
	var all []string
	for _, p := range h.Problems {
		all = append(all, p.What+": "+p.Advice)
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"listener ", "the authenticator users does not serve", "nobody can log in", "security.authorizers: the authorizer acl does not serve", "only super users"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
