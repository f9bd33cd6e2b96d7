package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/plugins/auth/internal/livefile"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const example = `
rules:
  - allow: [User:alice, Group:payments]
    to: [read, describe]
    topic: [orders-*, invoices]
  - deny: ["User:*"]
    to: [delete]
    topic: audit
    host: ["10.0.0.1"]
  - allow: ["User:*"]
    to: all
    topic: team-${principal}-*
    group: team-${principal}-*
  - allow: User:admin
    to: [alter-configs, cluster-action]
    cluster: true
  - allow: User:admin
    to: all
    topic: "*"
`

func newRules(t *testing.T, content string) *authorizer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := open(plugin.Config{JSON: fmt.Appendf(nil, `{"file":%q}`, path)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func verdict(t *testing.T, a *authorizer, c *auth.Client, op auth.Operation, r auth.ResourceType, name string) auth.Verdict {
	t.Helper()
	out := make([]auth.Decision, 1)
	if err := a.Authorize(t.Context(), c, []auth.Action{{Operation: op, Resource: r, Name: name}}, out); err != nil {
		t.Fatal(err)
	}
	return out[0].Verdict
}

// user is a client: "name" or "name of group".
func user(who string) *auth.Client {
	name, group, inGroup := strings.Cut(who, " of ")
	c := &auth.Client{PrincipalType: "User", PrincipalName: name, Host: "10.0.0.1"}
	if inGroup {
		c.Groups = []string{group}
	}
	return c
}

func TestDecide(t *testing.T) {
	a := newRules(t, example)
	for _, c := range []struct {
		who      string
		op       auth.Operation
		resource auth.ResourceType
		name     string
		want     auth.Verdict
	}{
		{"alice", auth.OpRead, auth.Topic, "orders-eu", auth.Allow},
		{"alice", auth.OpRead, auth.Topic, "invoices", auth.Allow},
		{"alice", auth.OpRead, auth.Topic, "invoices-2", auth.Deny}, // the star names every topic
		{"alice", auth.OpWrite, auth.Topic, "orders-eu", auth.Deny},
		{"bob of payments", auth.OpDescribe, auth.Topic, "orders-eu", auth.Allow},
		{"bob", auth.OpRead, auth.Topic, "orders-eu", auth.Deny},
		{"bob", auth.OpWrite, auth.Topic, "team-bob-x", auth.Allow},
		{"bob", auth.OpRead, auth.Group, "team-bob-x", auth.Allow},
		{"bob", auth.OpRead, auth.Group, "team-alice-x", auth.Abstain},
		{"bob", auth.OpWrite, auth.Topic, "team-bo-x", auth.Deny},
		{"bo", auth.OpRead, auth.Group, "team-bo-b-x", auth.Allow},
		{"bo-b", auth.OpRead, auth.Group, "team-bo-b-x", auth.Abstain}, // a name with what follows it
		{"admin", auth.OpRead, auth.Topic, "audit", auth.Allow},
		{"admin", auth.OpDelete, auth.Topic, "audit", auth.Deny},
		{"admin", auth.OpDescribeConfigs, auth.Cluster, auth.ClusterName, auth.Allow},
		{"admin", auth.OpCreate, auth.Cluster, auth.ClusterName, auth.Deny},
		{"admin", auth.OpRead, auth.TransactionalID, "x", auth.Abstain},
	} {
		if got := verdict(t, a, user(c.who), c.op, c.resource, c.name); got != c.want {
			t.Errorf("%s may %v %v %s: %d, want %d", c.who, c.op, c.resource, c.name, got, c.want)
		}
	}
	far := user("admin")
	far.Host = "10.0.0.2"
	if got := verdict(t, a, far, auth.OpDelete, auth.Topic, "audit"); got != auth.Allow {
		t.Errorf("from another host: %d, want Allow", got)
	}
}

func TestByResourceTypeKnowsTemplates(t *testing.T) {
	a := newRules(t, "rules:\n- {allow: \"User:*\", to: write, topic: \"team-${principal}-*\"}\n- {deny: User:eve, to: write, topic: team-*}\n")
	for who, want := range map[string]auth.Verdict{"bob": auth.Allow, "eve": auth.Abstain, "a-b": auth.Abstain} {
		d, err := a.AuthorizeByResourceType(t.Context(), user(who), auth.OpWrite, auth.Topic)
		if err != nil || d.Verdict != want {
			t.Errorf("%s: %+v, %v, want %d", who, d, err, want)
		}
	}
}

func TestTemplatesDoNotReachOthers(t *testing.T) {
	a := newRules(t, "rules:\n- {allow: \"User:*\", to: all, topic: \"${principal}\", group: \"${principal}.*\"}\n- {deny: \"User:*\", to: delete, group: \"${principal}.*\"}\n")
	for _, c := range []struct {
		who, name string
		resource  auth.ResourceType
		op        auth.Operation
		want      auth.Verdict
	}{
		{"*", "anything", auth.Topic, auth.OpRead, auth.Abstain},
		{"", "anything", auth.Topic, auth.OpRead, auth.Abstain},
		{"a", "a", auth.Topic, auth.OpRead, auth.Allow},
		{"a", "ab", auth.Topic, auth.OpRead, auth.Abstain},
		{"a", "a.b.x", auth.Group, auth.OpRead, auth.Allow},
		{"a.b", "a.b.x", auth.Group, auth.OpRead, auth.Deny},
		{"a.b", "a.b.x", auth.Group, auth.OpDelete, auth.Deny}, // a deny is for all
		{"a", "a.x", auth.Group, auth.OpDelete, auth.Deny},
	} {
		if got := verdict(t, a, user(c.who), c.op, c.resource, c.name); got != c.want {
			t.Errorf("%q may %v %v %s: %d, want %d", c.who, c.op, c.resource, c.name, got, c.want)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for content, want := range map[string]string{
		"rules: [{to: read, topic: a}]":                                                  "rule 1: want either allow or deny",
		"rules: [{allow: User:a, deny: User:b, to: read, topic: a}]":                     "want either allow or deny",
		"rules: [{allow: User:a, topic: a}]":                                             "to names no operation",
		"rules: [{allow: User:a, to: read}]":                                             "no resource is named",
		"rules: [{allow: User:a, to: reed, topic: a}]":                                   `operation "reed" is not known`,
		"rules: [{allow: User:a, to: any, topic: a}]":                                    "operation 1",
		"rules: [{allow: alice, to: read, topic: a}]":                                    `principal "alice", which is not Type:name`,
		"rules: [{allow: \"*\", to: read, topic: a}]":                                    `principal "*"`,
		"rules: [{allow: User:a, to: read, topic: a*b}]":                                 "a star stands at the end",
		"rules: [{allow: User:a, to: read, topic: \"${user}-*\"}]":                       "only one ${principal} is known",
		"rules: [{allow: User:a, to: read, topic: \"${principal}*\"}]":                   "something must stand between",
		"rules: [{allow: User:a, to: read, topic: \"${principal}-${principal}\"}]":       "only one ${principal}",
		"rules: [{allow: User:a, to: read, topic: \"\"}]":                                "empty resource name",
		"rules:\n- allow: User:a\n  to: read\n  tpoic: a\n":                              "line 4: field tpoic not found",
		"rules: [{allow: User:a, to: read, topic: a}]\n---\nrules: []":                   "something follows",
		"rules: [{allow: User:a, to: read, topic: a}, {allow: User:b, to: x, topic: a}]": "rule 2",
		"roles: []":     "field roles not found",
		"rules: {a: b}": "cannot unmarshal",
	} {
		if _, err := parseFile([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", content, err, want)
		}
	}
}

func TestTooManyRules(t *testing.T) {
	var names []string
	for i := range 101 {
		names = append(names, fmt.Sprintf("User:u%d", i))
	}
	many := strings.Join(names, ", ")
	content := fmt.Sprintf("rules: [{allow: [%s], to: read, topic: [%s]}]", many, many)
	if _, err := parseFile([]byte(content)); err == nil || !strings.Contains(err.Error(), "more than 10000 rules") {
		t.Errorf("10201 rules: %v", err)
	}
}

func TestAnEmptyFileAllowsNothing(t *testing.T) {
	for _, content := range []string{"", "# nothing yet\n", "rules: []"} {
		if got := verdict(t, newRules(t, content), user("alice"), auth.OpRead, auth.Topic, "t"); got != auth.Abstain {
			t.Errorf("%q: %d, want Abstain", content, got)
		}
	}
}

func TestRulesInTheSettings(t *testing.T) {
	a, err := open(plugin.Config{JSON: []byte(`{"rules":[{"allow":"User:alice","to":["read"],"topic":"t"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := verdict(t, a, user("alice"), auth.OpRead, auth.Topic, "t"); got != auth.Allow {
		t.Errorf("verdict %d, want Allow", got)
	}
	if text, err := a.Metrics(t.Context()); err != nil || len(text) != 0 {
		t.Errorf("metrics %q, %v", text, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{}`, `{"file":"a","rules":[]}`, `{"rules":[{"to":"read"}]}`, `{"rules":{}}`, `{"path":"a"}`} {
		if err := Plugin().Validate([]byte(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
	if err := Plugin().Validate([]byte(`{"file":"/not/there/yet"}`)); err != nil {
		t.Errorf("Validate reads the file: %v", err)
	}
	if _, err := open(plugin.Config{JSON: []byte(`{"file":"/not/there/yet"}`)}); err == nil {
		t.Error("an instance without its file")
	}
}

// TestAChangeIsToldWithinASecond: the obligation of Watch.
func TestAChangeIsToldWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newRules(t, example)
		defer a.Close()
		events := make(chan auth.Event)
		go a.Watch(t.Context(), func(e auth.Event) error { events <- e; return nil })
		if e := <-events; e.Epoch != 1 || e.Rules != nil {
			t.Errorf("first event %+v, want epoch 1", e)
		}
		path := a.file.Path()
		replace(t, path, "rules: [{allow: User:alice, to: write, topic: orders-eu}]")
		start := time.Now()
		if e := <-events; e.Epoch != 2 || time.Since(start) > time.Second {
			t.Errorf("event %+v after %v, want epoch 2 within a second", e, time.Since(start))
		}
		if got := verdict(t, a, user("alice"), auth.OpWrite, auth.Topic, "orders-eu"); got != auth.Allow {
			t.Errorf("by the new file: %d, want Allow", got)
		}
		replace(t, path, "rules: [{allow: User:alice")
		<-time.After(2 * livefile.Period)
		synctest.Wait()
		if got := verdict(t, a, user("alice"), auth.OpWrite, auth.Topic, "orders-eu"); got != auth.Allow || !a.file.Bad() || a.Epoch() != 2 {
			t.Errorf("after a bad file: %d at epoch %d, want what was before", got, a.Epoch())
		}
	})
}

func TestRememberedClientsAreBounded(t *testing.T) {
	a := newRules(t, example)
	p := a.policy.Load()
	most := maxRemembered / (len(p.same) + len(p.templates))
	for i := range 2*most + 10 {
		p.of(user(fmt.Sprint("u", i)))
		if len(p.clients) > most {
			t.Fatalf("%d clients are remembered, want at most %d", len(p.clients), most)
		}
	}
	c := user("bob")
	p.of(c)
	if n := testing.AllocsPerRun(100, func() { p.of(c) }); n != 0 {
		t.Errorf("%v allocations for a client that is remembered, want 0", n)
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("rules: [{allow: User:a, to: all, topic: \"*\"}]"))
	f.Add([]byte("rules: &a [*a]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := parseFile(content)
		if err != nil {
			return
		}
		for _, r := range append(p.same, p.templates...) {
			if err := r.Check(); err != nil {
				t.Errorf("a rule of a good file is bad: %v", err)
			}
		}
	})
}

func replace(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
