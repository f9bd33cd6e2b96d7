package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/mortisemq/mortise/conformance/golden"
	"github.com/mortisemq/mortise/plugins/auth/fileusers"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// TestBuiltinsAnswerTheSameOverGRPC asks every built-in the same questions as a value
// and over gRPC, as a process of its own would be asked.
func TestBuiltinsAnswerTheSameOverGRPC(t *testing.T) {
	remote, err := host.InProcess(builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remote.Stop(context.Background()) })
	direct, err := host.Direct(builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, c := range builtinConfigs(t) {
		t.Run(fmt.Sprintf("%s %s", c.name, c.config), func(t *testing.T) {
			asked[c.name] = true
			var answers []any
			for _, target := range []host.Target{direct, remote} {
				answers = append(answers, answersOf(t, target, c))
			}
			if !reflect.DeepEqual(answers[0], answers[1]) {
				t.Errorf("compiled in:\n%+v\nover gRPC:\n%+v", answers[0], answers[1])
			}
		})
	}
	for _, p := range builtins() {
		if !asked[p.Name] {
			t.Errorf("nobody asked %s", p.Name)
		}
	}
}

// builtinConfig is a built-in with a config to be asked with.
type builtinConfig struct {
	kind         plugin.Kind
	name, config string
}

func builtinConfigs(t *testing.T) []builtinConfig {
	entry, err := fileusers.NewEntry("alice", "secret", fileusers.Entry{Groups: []string{"staff"}})
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "users.yaml")
	var indented []byte
	for _, b := range []byte("\n" + entry) {
		if indented = append(indented, b); b == '\n' {
			indented = append(indented, "  "...)
		}
	}
	if err := os.WriteFile(users, append([]byte("users:"), indented...), 0o600); err != nil {
		t.Fatal(err)
	}
	return []builtinConfig{
		{plugin.Partitioner, "murmur2", `{}`},
		{plugin.Partitioner, "crc32", `{}`},
		{plugin.Partitioner, "crc32", `{"partitioner":"consistent"}`},
		{plugin.Partitioner, "fnv1a", `{"modulo":"masked"}`},
		{plugin.Partitioner, "sticky", `{}`},
		{plugin.Partitioner, "round-robin", `{}`},
		{plugin.Partitioner, "range-by-prefix", `{"rules":[{"prefix":"user-","partitions":"3-5"},{"from":0,"to":99,"partitions":0}]}`},
		{plugin.Authenticator, "file-users", fmt.Sprintf(`{"file":%q}`, users)},
		{plugin.Authorizer, "acl", `{"allow.everyone.if.no.acl.found":true}`},
		{plugin.Authorizer, "rules", `{"rules":[{"allow":"User:*","to":"read","topic":"team-${principal}-*"}]}`},
		{plugin.Retention, "time-size", `{}`},
		{plugin.Retention, "consumed", `{"groups":["billing"],"keep":{"ms":0}}`},
		{plugin.Retention, "budget", `{"bytes":100,"keep":{"ms":0}}`},
	}
}

// answersOf asks one target the questions of the kind.
func answersOf(t *testing.T, target host.Target, c builtinConfig) any {
	t.Helper()
	if err := target.Validate(t.Context(), c.kind, c.name, []byte(c.config)); err != nil {
		t.Fatal(err)
	}
	i, err := target.Configure(t.Context(), c.kind, c.name, plugin.Config{JSON: []byte(c.config), BrokerID: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	switch c.kind {
	case plugin.Partitioner:
		return assignedOf(t, i)
	case plugin.Authenticator:
		return outcomesOf(t, i)
	case plugin.Authorizer:
		return decisionsOf(t, i)
	}
	return verdictsOf(t, i)
}

func assignedOf(t *testing.T, i *host.Instance) any {
	p, err := i.Partitioner()
	if err != nil {
		t.Fatal(err)
	}
	keys := golden.Keys()[1:partitioner.MaxKeys] // where a null key goes is chance
	out := make([]int32, len(keys))
	if err := p.Assign(t.Context(), &partitioner.Request{Topic: "t", Partitions: 12, Keys: keys}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func outcomesOf(t *testing.T, i *host.Instance) any {
	a, err := i.Authenticator()
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, password := range []string{"secret", "guess"} {
		r, err := a.VerifyPassword(t.Context(), &auth.Peer{Mechanism: "PLAIN", Nonce: []byte("12345678")}, "alice", []byte(password))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	for _, user := range []string{"alice", "bob"} {
		c, err := a.ScramCredential(t.Context(), &auth.Peer{Mechanism: "SCRAM-SHA-512", Nonce: []byte("12345678")}, user)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%v %x %x %x %d %s", c.Found, c.Salt, c.StoredKey, c.ServerKey, c.Iterations, c.Principal.PrincipalName))
	}
	return all
}

func decisionsOf(t *testing.T, i *host.Instance) any {
	a, err := i.Authorizer()
	if err != nil {
		t.Fatal(err)
	}
	if taker, ok := a.(auth.RuleTaker); ok && i.Description().Has(auth.FeatureStore) {
		if err := taker.SetRules(t.Context(), 7, []auth.Rule{{
			Resource: auth.Topic, Name: "team-", Pattern: auth.Prefixed, Principal: "Group:staff", Host: auth.Wildcard,
			Operation: auth.OpRead, Permission: auth.PermissionAllow,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	var actions []auth.Action
	for _, name := range []string{"team-alice-x", "team-bob-x", "other"} {
		for _, op := range []auth.Operation{auth.OpRead, auth.OpWrite, auth.OpDescribe} {
			actions = append(actions, auth.Action{Operation: op, Resource: auth.Topic, Name: name})
		}
	}
	c := &auth.Client{PrincipalType: "User", PrincipalName: "alice", Groups: []string{"staff"}, Host: "10.0.0.1"}
	out := make([]auth.Decision, len(actions))
	if err := a.Authorize(t.Context(), c, actions, out); err != nil {
		t.Fatal(err)
	}
	byType, err := a.AuthorizeByResourceType(t.Context(), c, auth.OpRead, auth.Topic)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, byType)
}

func verdictsOf(t *testing.T, i *host.Instance) any {
	r, err := i.Retention()
	if err != nil {
		t.Fatal(err)
	}
	segments := []storage.SegmentFacts{
		{BaseOffset: 0, NextOffset: 10, Bytes: 100, MaxTimestampMS: 1000, ModifiedMS: 1000},
		{BaseOffset: 10, NextOffset: 20, Bytes: 100, MaxTimestampMS: -1, ModifiedMS: 2000},
		{BaseOffset: 20, NextOffset: 30, Bytes: 100, MaxTimestampMS: 9000, ModifiedMS: 9000, Active: true},
	}
	verdicts, err := r.Decide(t.Context(), []storage.LogFacts{{
		Topic: "t", Partition: 1, LeaderEpoch: 2, NowMS: 10_000, HighWatermark: 30, LastStable: 30,
		RetentionMS: 5000, RetentionBytes: storage.Unlimited, Segments: segments,
		Topics:    []storage.TopicBytes{{Topic: "t", Bytes: 300}, {Topic: "u", Bytes: 50}},
		Committed: []storage.GroupOffset{{Group: "billing", Offset: 10}},
	}})
	if err != nil || len(verdicts) == 0 {
		t.Fatalf("verdicts %v, %v", verdicts, err)
	}
	return verdicts
}
