package main

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/sdktest"
)

// TestMain is the tests, or, started as a broker starts a plugin, a program of the
// built-ins, or, by the name of mortise, that.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "mortise" {
		main()
	}
	if os.Getenv("MORTISE_PLUGIN") != "" {
		sdk.Serve(builtins()...)
	}
	os.Exit(m.Run())
}

// TestBuiltinsKeepTheirContracts checks every built-in with the conformance kit: all
// as values and over gRPC in memory, one of each kind as a program, and with
// KIT_PROGRAMS=all, as in make conformance, all of them: a program takes seconds.
func TestBuiltinsKeepTheirContracts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := sdktest.Program(host.Command{Path: self, Args: []string{"-test.run=^$"}})
	started := map[plugin.Kind]bool{}
	for _, c := range builtinConfigs(t) {
		t.Run(fmt.Sprintf("%s %s", c.name, c.config), func(t *testing.T) {
			if c.name == "file-users" {
				c.config = cheapUsers(t)
			}
			sources := []sdktest.Source{sdktest.Values(builtins()...), sdktest.InProcess(builtins()...)}
			if !started[c.kind] || os.Getenv("KIT_PROGRAMS") == "all" {
				started[c.kind] = true
				sources = append(sources, program)
			}
			for _, source := range sources {
				sdktest.Run(t, source, c.kind, c.name, c.config, kitFacts(c))
			}
		})
	}
}

// TestAFileOfRulesKeepsItsContract changes the file under the plugin: Watch must tell.
func TestAFileOfRulesKeepsItsContract(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	n := 0
	change := func(context.Context) error {
		n++
		rules := fmt.Sprintf("rules:\n  - allow: [User:alice]\n    to: [read]\n    topic: [orders, changed-%d]\n", n)
		return os.WriteFile(file, []byte(rules), 0o600)
	}
	if err := change(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, source := range []sdktest.Source{sdktest.Values(builtins()...), sdktest.InProcess(builtins()...)} {
		sdktest.Run(t, source, plugin.Authorizer, "rules", fmt.Sprintf(`{"file":%q}`, file), sdktest.Facts{Change: change})
	}
}

// cheapUsers is a config of file-users whose one hash costs little: the kit asks often.
func cheapUsers(t *testing.T) string {
	salt := []byte("12345678")
	key, err := pbkdf2.Key(sha256.New, "secret", salt, 10_000, sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawStdEncoding.EncodeToString
	file := filepath.Join(t.TempDir(), "users.yaml")
	write(t, file, fmt.Sprintf("users:\n  alice:\n    password: \"$pbkdf2-sha256$i=10000$%s$%s\"\n", text(salt), text(key)))
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"file":%q}`, file)
}

// kitFacts is what the kit can't know of a built-in with its config.
func kitFacts(c builtinConfig) sdktest.Facts {
	switch c.name {
	case "file-users":
		return sdktest.Facts{Login: &sdktest.Login{User: "alice", Password: "secret"}}
	case "acl":
		return sdktest.Facts{Open: true} // allow.everyone.if.no.acl.found
	}
	return sdktest.Facts{}
}
