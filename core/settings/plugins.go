package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// cataloguePath is the key of the list of plugins.
const cataloguePath = "plugins/catalogue"

// masked stands where a secret is.
const masked = "********"

// withoutSecrets is a value as it may be shown.
func withoutSecrets(path string, v any) any {
	switch path {
	case cataloguePath:
		return catalogueShown(v)
	case gossipKeysPath:
		if list, ok := v.([]any); ok {
			return slices.Repeat([]any{masked}, len(list))
		}
		return masked
	}
	return v
}

// catalogueShown is a catalogue as it may be shown: what plugins are given as config
// and environment is theirs, and often a secret.
func catalogueShown(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			out[i] = item
			continue
		}
		safe := maps.Clone(fields)
		for _, name := range [...]string{"config", "env", "args"} {
			if _, set := safe[name]; set {
				safe[name] = masked
			}
		}
		out[i] = safe
	}
	return out
}

// catalogue takes the list of plugins. Its fields are those of the cluster's
// catalogue; it is enabled unless it says otherwise.
func catalogue(v any, into *[]pluginhost.Spec) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s is not a list of plugins; write for example [{name: users, kind: authenticator, builtin: file-users}]", quoted(v))
	}
	*into = nil
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return &itemError{aPlugin, i, "", fmt.Errorf("%s is not {name, kind, builtin or path, ...}", quoted(item))}
		}
		spec, field, err := entry(fields)
		if err != nil {
			return &itemError{aPlugin, i, field, err}
		}
		*into = append(*into, spec)
	}
	return nil
}

// entry reads one plugin; field is the one that is wrong.
func entry(fields map[string]any) (spec pluginhost.Spec, field string, err error) {
	spec.Enabled = true
	for name, value := range fields {
		one, err := json.Marshal(map[string]any{name: value})
		if err != nil {
			return spec, name, fmt.Errorf("%s can't be written as JSON", quoted(value))
		}
		d := json.NewDecoder(bytes.NewReader(one))
		d.DisallowUnknownFields()
		if err := d.Decode(&spec); err != nil {
			return spec, name, readable(err)
		}
	}
	return spec, "", spec.Check()
}

// readable is an error of the JSON reader in words of the file.
func readable(err error) error {
	if strings.Contains(err.Error(), "unknown field") {
		return fmt.Errorf("no such field; there are name, kind, builtin, path, plugin, version, args, env, config, sha256, enabled, required, timeout, concurrency, queue, memory_max, run_as, allow_remap")
	}
	return err
}

// checkPlugins looks for names that stand twice, and for names that listeners and the
// chain of authorizers use for something else. One that is not in this catalogue may
// be in the cluster's.
func (s *Settings) checkPlugins(problem func(path string, err error)) {
	kinds := map[string]plugin.Kind{}
	for i := range s.Plugins.Catalogue {
		e := &s.Plugins.Catalogue[i]
		if _, twice := kinds[e.Name]; twice {
			problem(cataloguePath, &itemError{aPlugin, i, "name", fmt.Errorf("%s is the name of another plugin too", e.Name)})
		}
		kinds[e.Name] = e.Kind
	}
	wants := func(name string, want plugin.Kind) error {
		if is, known := kinds[name]; known && is != want {
			return fmt.Errorf("the plugin %s is of the kind %s, not %s", name, is, want)
		}
		return nil
	}
	for i, l := range s.Listeners {
		switch err := wants(l.Authenticator, plugin.Authenticator); {
		case err != nil:
			problem("listeners", &itemError{aListener, i, "authenticator", err})
		case l.SuperUsers && l.Authenticator == "":
			problem("listeners", &itemError{aListener, i, "super_users", fmt.Errorf("without an authenticator nobody is anybody")})
		}
	}
	for i, name := range s.Security.Authorizers {
		if err := wants(name, plugin.Authorizer); err != nil {
			problem("security/authorizers", err)
		}
		if slices.Contains(s.Security.Authorizers[:i], name) {
			problem("security/authorizers", fmt.Errorf("%s is there twice", name))
		}
	}
	for _, principal := range s.Security.SuperUsers {
		if kind, name, ok := strings.Cut(principal, ":"); !ok || kind == "" || name == "" {
			problem("security/super_users", fmt.Errorf("%q is not Type:name; write for example User:admin", principal))
		}
	}
}
