package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestBuiltinPluginsPage: docs/builtin-plugins.md has every built-in under its name, and
// what it shows as a config is one.
func TestBuiltinPluginsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/builtin-plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{}
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		p, ok := builtinNamed(name)
		if !ok {
			t.Errorf("the page has %q, which is not compiled in", name)
			continue
		}
		for _, block := range strings.Split(text, "```json\n")[1:] {
			config, _, _ := strings.Cut(block, "```")
			shown[name]++
			if err := p.Validate([]byte(config)); err != nil {
				t.Errorf("%s: %v, of the page's %s", name, err, config)
			}
		}
	}
	for _, p := range builtins() {
		if shown[p.Name] == 0 {
			t.Errorf("the page shows no config of %s", p.Name)
		}
	}
}

func builtinNamed(name string) (plugin.Plugin, bool) {
	for _, p := range builtins() {
		if p.Name == name {
			return p, true
		}
	}
	return plugin.Plugin{}, false
}
