package fileusers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/plugins/auth/internal/livefile"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const password = "correct horse"

// cheapEntry is a user as NewEntry writes one, with little work.
func cheapEntry(t *testing.T, name, password, groups string) string {
	t.Helper()
	h, err := newHash(password, minIterations)
	if err != nil {
		t.Fatal(err)
	}
	scram, err := newScram("SCRAM-SHA-256", password, auth.MinScramIterations)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("  %s:\n    password: %q\n    scram-sha-256: %q\n    groups: [%s]\n", name, h.String(), scram, groups)
}

func newUsers(t *testing.T, content string) *authenticator {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.yaml")
	replace(t, path, content)
	a, err := open(plugin.Config{JSON: fmt.Appendf(nil, `{"file":%q,"remember.ms":500}`, path), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
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

func verify(t *testing.T, a *authenticator, name, password string) auth.Result {
	t.Helper()
	r, err := a.VerifyPassword(t.Context(), &auth.Peer{Mechanism: "PLAIN", Nonce: []byte("n1")}, name, []byte(password))
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Nonce) != "n1" {
		t.Errorf("the nonce is not echoed: %+v", r)
	}
	if strings.Contains(r.Reason, password) && password != "" {
		t.Errorf("the password is in the reason %q", r.Reason)
	}
	return r
}

func TestVerifyPassword(t *testing.T) {
	a := newUsers(t, "users:\n"+cheapEntry(t, "alice", password, "staff, payments")+"  apache:\n    password: "+fromHtpasswd+"\n")
	want := auth.Result{
		Outcome: auth.Accept, PrincipalType: "User", PrincipalName: "alice", Groups: []string{"payments", "staff"},
		CacheTTL: 500 * time.Millisecond, Nonce: []byte("n1"),
	}
	if got := verify(t, a, "alice", password); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := verify(t, a, "apache", "myPassword"); got.Outcome != auth.Accept || len(got.Groups) != 0 {
		t.Errorf("a hash of htpasswd: %+v", got)
	}
	for name, secret := range map[string]string{"alice": "guess", "Alice": password, "bob": password, "": "", "apache": password} {
		if got := verify(t, a, name, secret); got.Outcome != auth.Reject || got.PrincipalName != "" || got.Groups != nil {
			t.Errorf("%s with %s: %+v, want Reject", name, secret, got)
		}
	}
	if _, err := a.ValidateToken(t.Context(), &auth.Peer{}, nil); !errors.Is(err, auth.ErrUnsupported) {
		t.Errorf("a token: %v", err)
	}
}

func TestScramCredential(t *testing.T) {
	a := newUsers(t, "users:\n"+cheapEntry(t, "alice", password, "staff"))
	peer := &auth.Peer{Mechanism: "SCRAM-SHA-256", Nonce: []byte("n1")}
	c, err := a.ScramCredential(t.Context(), peer, "alice")
	if err != nil || !c.Found || c.Principal.PrincipalName != "alice" || c.Principal.Groups[0] != "staff" {
		t.Fatalf("%+v, %v", c, err)
	}
	clear(c.Salt)
	clear(c.StoredKey)
	c.Principal.Groups[0] = "admins"
	if again, _ := a.ScramCredential(t.Context(), peer, "alice"); bytes.Equal(again.Salt, c.Salt) || again.Principal.Groups[0] != "staff" {
		t.Error("the asker can change what is in force")
	}
	for mechanism, name := range map[string]string{"SCRAM-SHA-256": "bob", "SCRAM-SHA-512": "alice", "": "alice"} {
		if c, err := a.ScramCredential(t.Context(), &auth.Peer{Mechanism: mechanism}, name); err != nil || c.Found || c.StoredKey != nil {
			t.Errorf("%s by %s: %+v, %v", name, mechanism, c, err)
		}
	}
}

// counting counts how often a password is checked.
type counting struct{ n *int }

func (c counting) matches([]byte) bool { *c.n++; return false }
func (c counting) dummy() passwordHash { return never{c} }

// TestWhoeverAsksCostsOneHash: time must not tell who is in the file.
func TestWhoeverAsksCostsOneHash(t *testing.T) {
	a := newUsers(t, "")
	n := 0
	h := counting{&n}
	all := &users{byName: map[string]*user{"alice": {password: h}, "scram-only": {}}, hashes: []passwordHash{h.dummy()}}
	a.users.Store(all)
	for _, name := range []string{"alice", "scram-only", "nobody", ""} {
		n = 0
		if got := verify(t, a, name, "guess"); got.Outcome != auth.Reject || n != 1 {
			t.Errorf("%q: %+v after %d hashes, want one", name, got, n)
		}
	}
	a.fallback, n = h.dummy(), 0
	a.users.Store(&users{})
	if verify(t, a, "nobody", "x"); n != 1 {
		t.Errorf("with an empty file %d hashes, want one", n)
	}
}

func TestNewEntryIsReadAgain(t *testing.T) {
	text, err := NewEntry("alice", password, Entry{Groups: []string{"staff"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, password) {
		t.Errorf("the password is in the entry:\n%s", text)
	}
	a := newUsers(t, "users:\n  "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")+"\n")
	if got := verify(t, a, "alice", password); got.Outcome != auth.Accept || got.Groups[0] != "staff" {
		t.Errorf("%+v", got)
	}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		c, err := a.ScramCredential(t.Context(), &auth.Peer{Mechanism: mechanism}, "alice")
		if err != nil || !c.Found || c.Iterations != newScramIterations {
			t.Errorf("%s: %+v, %v", mechanism, c, err)
		}
	}
	only, err := NewEntry("bob", password, Entry{NoPassword: true})
	if err != nil || strings.Contains(only, "password") || !strings.Contains(only, "scram-sha-512") {
		t.Errorf("without a hash of the password: %s, %v", only, err)
	}
	for _, bad := range []struct {
		name, password string
		entry          Entry
	}{{"", "x", Entry{}}, {"*", "x", Entry{}}, {"a", "", Entry{}}, {"a", "x", Entry{NoPassword: true, NoScram: true}}, {"a", "x", Entry{Groups: []string{""}}}} {
		if text, err := NewEntry(bad.name, bad.password, bad.entry); err == nil {
			t.Errorf("%+v makes %s", bad, text)
		}
	}
}

func TestFileMistakes(t *testing.T) {
	for content, want := range map[string]string{
		"users:\n  alice:\n    password: secret\n":                `line 3: user "alice": password: neither bcrypt`,
		"users:\n  alice:\n    pasword: x\n":                      `"pasword" in line 3`,
		"users:\n  alice: {}\n":                                   "neither a password nor",
		"users:\n  alice:\n    scram-sha-256: x\n":                "SCRAM-SHA-256",
		"users:\n  alice: {groups: [\"\"]}\n":                     "group",
		"users:\n  \"*\": {password: x}\n":                        "a name of 1 to",
		"users: [alice]\n":                                        "cannot unmarshal",
		"people: {}\n":                                            "people",
		"users:\n  a: {password: x}\n  a: {password: y}\n":        "already defined",
		"users: {}\n---\nusers: {}\n":                             "something follows",
		"users:\n  alice: [password]\n":                           "cannot unmarshal",
		"users:\n  alice: {password: " + fromHtpasswd + ", x: 1}": `"x" in line 2`,
	} {
		if _, err := parseFile([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", content, err, want)
		}
	}
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newUsers(t, "users:\n"+cheapEntry(t, "alice", password, ""))
		defer a.Close()
		look := func() {
			<-time.After(livefile.Period + time.Millisecond)
			synctest.Wait()
		}
		replace(t, a.Path(), "users:\n"+cheapEntry(t, "alice", "new", "")+cheapEntry(t, "bob", password, ""))
		look()
		if verify(t, a, "alice", password).Outcome != auth.Reject || verify(t, a, "alice", "new").Outcome != auth.Accept || verify(t, a, "bob", password).Outcome != auth.Accept {
			t.Error("the new file is not in force")
		}
		replace(t, a.Path(), "users:\n"+cheapEntry(t, "eve", password, "")+"  bob: oops\n")
		look()
		if !a.Bad() || verify(t, a, "bob", password).Outcome != auth.Accept || verify(t, a, "eve", password).Outcome != auth.Reject {
			t.Error("a bad file changed something")
		}
		text, err := a.Metrics(t.Context())
		if err != nil || !strings.Contains(string(text), "plugin_file_bad 1") {
			t.Errorf("metrics %s, %v", text, err)
		}
		replace(t, a.Path(), "users:\n"+cheapEntry(t, "eve", password, ""))
		look()
		if a.Bad() || verify(t, a, "bob", password).Outcome != auth.Reject || verify(t, a, "eve", password).Outcome != auth.Accept {
			t.Error("the repaired file is not in force")
		}
	})
}

func TestConfig(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{}`, `{"file":""}`, `{"file":"a","remember.ms":-1}`, `{"file":"a","remember.ms":60001}`, `{"file":"a","users":1}`} {
		if err := Plugin().Validate([]byte(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
	if _, err := Plugin().New(t.Context(), plugin.Config{JSON: []byte(`{"file":"/not/there"}`)}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an instance without its file: %v", err)
	}
}

func TestStopsWithItsContext(t *testing.T) {
	a := newUsers(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := a.VerifyPassword(ctx, &auth.Peer{}, "a", nil); !errors.Is(err, context.Canceled) || r.Outcome != auth.Reject {
		t.Errorf("%+v, %v", r, err)
	}
	if c, err := a.ScramCredential(ctx, &auth.Peer{}, "a"); !errors.Is(err, context.Canceled) || c.Found {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("users:\n  alice:\n    password: " + fromHtpasswd + "\n    groups: [a]\n"))
	f.Add([]byte("users: {a: {scram-sha-256: \"salt=AAAA,iterations=4096\"}}"))
	f.Add([]byte("users: {a: {password: \"$pbkdf2-sha256$i=10000$c2FsdHNhbHQ$AAAA\"}}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		all, err := parseFile(content)
		if err != nil {
			return
		}
		for name, u := range all.byName {
			if name == "" || u.password == nil && len(u.scram) == 0 {
				t.Errorf("user %q can't authenticate", name)
			}
		}
	})
}
