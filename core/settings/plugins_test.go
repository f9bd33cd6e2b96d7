package settings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

const secured = `listeners:
  - name: SASL
    address: "127.0.0.1:9093"
    authenticator: users
    super_users: true
security:
  super_users: ["User:admin"]
  authorizers: [acl]
plugins:
  run_dir: /run/mortise
  catalogue:
    - name: users
      kind: authenticator
      builtin: file-users
      config: {file: /etc/users.yaml, pepper: hush}
    - name: by-tenant
      kind: partitioner
      path: /opt/by-tenant
      env: {KEY: hush}
      sha256: {linux/amd64: "0000000000000000000000000000000000000000000000000000000000000000"}
      timeout: 20ms
      enabled: false
`

func TestPluginsAndSecurity(t *testing.T) {
	s, err := load(t, "m.yaml", secured)
	if err != nil {
		t.Fatal(err)
	}
	l := s.Listeners[0]
	if l.Authenticator != "users" || !l.SuperUsers || s.Security.Authorizers[0] != "acl" || s.Security.SuperUsers[0] != "User:admin" || s.Plugins.RunDir != "/run/mortise" {
		t.Errorf("%+v", s)
	}
	users, tenant := s.Plugins.Catalogue[0], s.Plugins.Catalogue[1]
	if !users.Enabled || users.Kind != plugin.Authenticator || string(users.Config) != `{"file":"/etc/users.yaml","pepper":"hush"}` {
		t.Errorf("%+v", users)
	}
	if tenant.Enabled || time.Duration(tenant.Timeout) != 20*time.Millisecond || tenant.Env["KEY"] != "hush" {
		t.Errorf("%+v", tenant)
	}
	for _, v := range s.Values() {
		if strings.Contains(v.Text(), "hush") {
			t.Errorf("%s shows a secret: %s", v.Key, v.Text())
		}
	}
}

func TestErrorsOfPluginsNameTheirLine(t *testing.T) {
	const head = "plugins:\n  catalogue:\n    - name: a\n      kind: retention\n      builtin: x\n"
	for says, c := range map[string]struct{ text, want string }{
		"unknown field":   {head + "      pat: y\n", "m.yaml:6: plugins.catalogue: plugin 1: pat: no such field"},
		"wrong type":      {head + "      concurrency: many\n", "m.yaml:6: plugins.catalogue: plugin 1: concurrency:"},
		"timeout":         {head + "      timeout: soon\n", "m.yaml:6: plugins.catalogue: plugin 1: timeout:"},
		"nothing to run":  {"plugins:\n  catalogue:\n    - {name: a, kind: retention}\n", "m.yaml:3: plugins.catalogue: plugin 1:"},
		"twice":           {head + "    - name: a\n      kind: retention\n      builtin: x\n", "m.yaml:6: plugins.catalogue: plugin 2: name: a is the name of another plugin too"},
		"not a list":      {"plugins:\n  catalogue: 5\n", "m.yaml:2: plugins.catalogue: 5 is not a list"},
		"no entry":        {"plugins:\n  catalogue: [5]\n", "m.yaml:2: plugins.catalogue: plugin 1: 5 is not {"},
		"wrong kind":      {head + "security:\n  authorizers: [a]\n", "m.yaml:7: security.authorizers: the plugin a is of the kind retention, not authorizer"},
		"chain twice":     {"security:\n  authorizers: [a, a]\n", "m.yaml:2: security.authorizers: a is there twice"},
		"super user":      {"security:\n  super_users: [admin]\n", `m.yaml:2: security.super_users: "admin" is not Type:name`},
		"nobody is super": {"listeners:\n  - name: A\n    address: 127.0.0.1:1\n    super_users: true\n", "m.yaml:4: listeners: listener 1: super_users: without an authenticator"},
		"listener's kind": {head + "listeners:\n  - name: A\n    address: 127.0.0.1:1\n    authenticator: a\n", "m.yaml:9: listeners: listener 1: authenticator: the plugin a is of the kind retention"},
		"neither":         {"plugins:\n  allow_unverified: maybe\n", `m.yaml:2: plugins.allow_unverified: "maybe" is neither true nor false`},
	} {
		if _, err := load(t, "m.yaml", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", says, err, c.want)
		}
	}
	if _, err := load(t, "m.yaml", fmt.Sprintf("%s      config: {deep: {er: [1, {x: y}]}}\n", head)); err != nil {
		t.Errorf("a config with parts: %v", err)
	}
}
