package main

import (
	"encoding/json"
	"testing"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestBuiltins: each is well made, of one name, and says what it is.
func TestBuiltins(t *testing.T) {
	names := map[string]bool{}
	kinds := map[plugin.Kind]int{}
	for _, p := range builtins() {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		id := string(p.Kind) + "/" + p.Name
		if names[id] {
			t.Errorf("%s is there twice", id)
		}
		names[id] = true
		kinds[p.Kind]++
		if p.Summary == "" || len(p.Summary) > plugin.MaxSummaryBytes {
			t.Errorf("%s: summary %q", id, p.Summary)
		}
		var schema map[string]any
		if err := json.Unmarshal(p.Schema, &schema); err != nil || schema["type"] != "object" {
			t.Errorf("%s: the schema is no JSON schema of an object: %v", id, err)
		}
		if p.Validate == nil || p.Validate([]byte(`{"no.such.setting":1}`)) == nil {
			t.Errorf("%s: a setting that is not known passes", id)
		}
	}
	for _, k := range plugin.Kinds() {
		if kinds[k] == 0 {
			t.Errorf("no %s is compiled in", k)
		}
	}
}
