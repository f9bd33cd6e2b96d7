package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// startGuarded runs a node with file-users and acl, whose super user is admin with the
// password a, as the README has it. It gives the file of its users.
func startGuarded(t *testing.T) (n *nodetest.Node, users string) {
	t.Helper()
	users = filepath.Join(t.TempDir(), "users.yaml")
	must(t, "", "a\n", "user", "add", "admin", users, "--no-scram")
	n = nodetest.Start(t, nodetest.Options{Retention: builtinRetention(), Admin: true,
		SASL:     &broker.SASL{Mechanisms: []string{"PLAIN"}, Plugin: "users", SuperUsers: true},
		Security: broker.Security{SuperUsers: []string{"User:admin"}, Plugins: []string{"acl"}},
		Plugins: broker.Plugins{Builtins: builtins(), RunDir: runDir(t), Catalogue: []pluginhost.Spec{
			{Name: "users", Kind: plugin.Authenticator, Builtin: "file-users", Enabled: true, Config: fmt.Appendf(nil, `{"file": %q}`, users), Timeout: pluginhost.Duration(pluginhost.TimeoutMax)},
			patientACL(),
		}}})
	t.Setenv("MORTISE_ADMIN", n.AdminAddr())
	return n, users
}

// TestLogin takes a person from a broker that wants a login to one who may do something.
func TestLogin(t *testing.T) {
	n, users := startGuarded(t)
	at := n.Addr()
	fails(t, at, "", output.ExitFailure, "wants a login, it seems: --user or MORTISE_USER", "topic", "list")
	if r := run(t, at, "", "health"); r.code != output.ExitFailure || !strings.HasPrefix(r.out, "not healthy: 1 problem: login\n") || strings.Contains(r.out, "start a broker") {
		t.Errorf("health without a login: %d %s", r.code, r.out)
	}
	fails(t, at, "", output.ExitUsage, "put it into MORTISE_PASSWORD or a file", "topic", "list", "--user", "admin")
	fails(t, at, "", output.ExitUsage, "nosuch: no such file", "topic", "list", "--user", "admin", "--password-file", "nosuch")
	fails(t, at, "", output.ExitUsage, "--password-file without --user", "topic", "list", "--password-file", users)
	t.Setenv("MORTISE_PASSWORD", "b")
	fails(t, at, "", output.ExitFailure, "does not take the user admin with this password", "topic", "list", "--user", "admin")
	t.Setenv("MORTISE_PASSWORD", "a")
	t.Setenv("MORTISE_USER", "admin")
	must(t, at, "", "topic", "create", "orders")
	must(t, at, "hello\n", "produce", "orders")
	if got := must(t, at, "", "consume", "orders", "-e"); got != "hello\n" {
		t.Errorf("%q", got)
	}
	if line := must(t, at, "", "health"); !strings.HasPrefix(line, "healthy") {
		t.Error(line)
	}
	must(t, "", "s3cret\n", "user", "add", "alice", users, "--no-scram")
	must(t, at, "", "acl", "add", "User:alice", "read", "--topic", "orders")
	password := filepath.Join(t.TempDir(), "password")
	write(t, password, "a\n")
	must(t, at, "", "topic", "list", "--user", "admin", "--password-file", password)
	seesOwn(t, at)
}

// seesOwn holds that alice, who may read a topic and no more, is shown it and the health
// of the cluster: what only others may ask comes from admin listeners.
func seesOwn(t *testing.T, at string) {
	t.Helper()
	t.Setenv("MORTISE_USER", "alice")
	t.Setenv("MORTISE_PASSWORD", "s3cret")
	described := run(t, at, "", "topic", "describe", "orders", "-o", "json")
	for described.err != nil && strings.Contains(described.err.Error(), "does not take the user alice") { // within a second it does
		described = run(t, at, "", "topic", "describe", "orders", "-o", "json")
	}
	if described.err != nil {
		t.Fatal(described.err)
	}
	if v := decode[[]topicView](t, described.out); len(v) != 1 || v[0].Partitions[0].Bytes <= 0 || v[0].Partitions[0].EndOffset != 1 {
		t.Errorf("%+v", v)
	}
	if line := must(t, at, "", "health"); !strings.HasPrefix(line, "healthy") || !strings.Contains(line, " free of ") {
		t.Error(line)
	}
}

// TestLoginWithoutAnAnswer holds that a login which nobody answers is no wrong password.
func TestLoginWithoutAnAnswer(t *testing.T) {
	n, _ := startGuarded(t)
	must(t, "", "", "plugin", "disable", "users", "--override")
	t.Setenv("MORTISE_PASSWORD", "a")
	fails(t, n.Addr(), "", output.ExitFailure, "its authenticator gives no answer", "topic", "list", "--user", "admin")
	if r := run(t, "", "", "health", "--admin", n.AdminAddr()); r.code != output.ExitFailure || !strings.Contains(r.out, "the authenticator users does not serve (disabled)") {
		t.Errorf("%d\n%s", r.code, r.out)
	}
}

// TestLoginWhereThereIsNone holds that a login at a listener without one says so.
func TestLoginWhereThereIsNone(t *testing.T) {
	_, at := start(t)
	t.Setenv("MORTISE_PASSWORD", "a")
	fails(t, at, "", output.ExitFailure, "has no login by SASL PLAIN", "topic", "list", "--user", "admin")
}

func TestUserAdd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.yaml")
	add := []string{"user", "add", "ann", file, "--no-scram", "-g", "staff"}
	if out := must(t, "", "secret\n", add...); !strings.Contains(out, "ann is in "+file) {
		t.Error(out)
	}
	fails(t, "", "secret\n", output.ExitFailure, "--replace gives it another password", add...)
	if v := decode[userView](t, must(t, "", "other\n", append(add, "--replace", "-o", "json")...)); v.User != "ann" || v.File != file {
		t.Errorf("%+v", v)
	}
	if out := must(t, "", "secret\n", "user", "add", "bob", "-", "--no-scram"); !strings.HasPrefix(out, "users:\n  bob:\n    password: ") || strings.Contains(out, "secret") {
		t.Errorf("printed:\n%s", out)
	}
	fails(t, "", "", output.ExitUsage, "no password", "user", "add", "eve", file)
	fails(t, "", "a\nb\n", output.ExitUsage, "a password is one line", "user", "add", "eve", file)
	fails(t, "", "x\n", output.ExitFailure, "a name of 1 to", "user", "add", "*", file)
	write(t, file, "topics: {}\n")
	fails(t, "", "x\n", output.ExitFailure, "topics", "user", "add", "eve", file)
}
