package main

import (
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// TestACLs takes a user from nothing to what the rules say, and back.
func TestACLs(t *testing.T) {
	n, users := startGuarded(t)
	at := n.Addr()
	must(t, "", "b\n", "user", "add", "alice", users, "--no-scram", "--group", "staff", "--replace")
	as := func(user, password string) {
		t.Setenv("MORTISE_USER", user)
		t.Setenv("MORTISE_PASSWORD", password)
	}
	as("admin", "a")
	must(t, at, "", "topic", "create", "orders")
	must(t, at, "", "plugin", "restart", "users") // which reads the file now
	must(t, at, "one\n", "produce", "orders")
	as("alice", "b")
	fails(t, at, "two\n", output.ExitFailure, "the user alice may not do this", "produce", "orders", "--create=false")
	fails(t, at, "", output.ExitFailure, "the user alice may not do this", "acl", "list")
	as("admin", "a")
	out := must(t, at, "", "acl", "add", "User:alice", "read", "write", "--topic", "ord", "--prefix")
	if !strings.Contains(out, "User:alice  allow  write      topic  ord…  *") {
		t.Errorf("added:\n%s", out)
	}
	must(t, at, "", "acl", "add", "Group:staff", "describe", "--topic", "*")
	must(t, at, "", "acl", "add", "User:eve", "all", "--topic", "orders", "--deny", "--host", "192.0.2.7")
	all := decode[[]aclView](t, must(t, at, "", "acl", "list", "-o", "json"))
	if len(all) != 4 || all[0] != (aclView{"Group:staff", "allow", "describe", "topic", "*", "literal", "*"}) ||
		all[3] != (aclView{"User:eve", "deny", "all", "topic", "orders", "literal", "192.0.2.7"}) {
		t.Errorf("%+v", all)
	}
	if his := decode[[]aclView](t, must(t, at, "", "acl", "list", "User:alice", "-o", "json")); len(his) != 2 {
		t.Errorf("%+v", his)
	}
	as("alice", "b")
	must(t, at, "two\n", "produce", "orders", "--create=false")
	as("admin", "a")
	must(t, at, "", "acl", "remove", "User:alice", "write", "--topic", "ord", "--prefix")
	fails(t, at, "", output.ExitFailure, "no such rules", "acl", "remove", "User:alice", "write", "--topic", "ord", "--prefix")
	as("alice", "b")
	fails(t, at, "three\n", output.ExitFailure, "the user alice may not do this", "produce", "orders", "--create=false")
	if got := must(t, at, "", "consume", "orders", "-e"); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
	as("admin", "a")
	must(t, at, "", "acl", "remove", "User:alice", "--topic", "ord", "--prefix")
	must(t, at, "", "acl", "remove", "User:eve", "--topic", "orders", "--deny")
	if left := decode[[]aclView](t, must(t, at, "", "acl", "list", "-o", "json")); len(left) != 1 {
		t.Errorf("%+v", left)
	}
}

// TestUpgradeForgetsLogins holds that nobody logs in by what a retired version of the
// authenticator has accepted.
func TestUpgradeForgetsLogins(t *testing.T) {
	n, users := startGuarded(t)
	t.Setenv("MORTISE_USER", "admin")
	t.Setenv("MORTISE_PASSWORD", "a")
	must(t, n.Addr(), "", "topic", "list") // remembered for 10 s
	must(t, "", "b\n", "user", "add", "admin", users, "--no-scram", "--replace")
	must(t, "", "", "plugin", "restart", "users")
	fails(t, n.Addr(), "", output.ExitFailure, "does not take the user admin", "topic", "list")
	t.Setenv("MORTISE_PASSWORD", "b")
	must(t, n.Addr(), "", "topic", "list")
}

func TestACLErrors(t *testing.T) {
	_, at := start(t)
	for _, c := range []struct {
		code       int
		line, want string
	}{
		{output.ExitUsage, "acl add User:a", "at least 2 arg"},
		{output.ExitUsage, "acl add alice read --topic t", `"alice" is no principal`},
		{output.ExitUsage, "acl add User:a read", "on what?"},
		{output.ExitUsage, "acl add User:a fly --topic t", `"fly" is no operation`},
		{output.ExitUsage, "acl add User:a any --topic t", `"any" is no operation`},
		{output.ExitFailure, "acl list", "security.authorizers"},
		{output.ExitFailure, "acl add User:a read --topic t", "security.authorizers"},
		{output.ExitFailure, "acl remove User:a --topic t", "security.authorizers"},
	} {
		fails(t, at, "", c.code, c.want, strings.Fields(c.line)...)
	}
}
