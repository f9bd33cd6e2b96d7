package metadata

import (
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// A client's text can be any bytes. What decoders would refuse must not be agreed
// on: every node would stop at it, at every start.
func TestUnreadableCommandsAreNotEncoded(t *testing.T) {
	const bad = "\xff"
	for says, c := range map[string]Command{
		"a config":       &AlterConfigs{Changes: []ConfigChange{{Type: meta.ResourceTopic, Name: "a", Values: map[string]string{"k": bad}}}},
		"a config's key": &AlterConfigs{Changes: []ConfigChange{{Type: meta.ResourceTopic, Name: "a", Values: map[string]string{bad: "v"}}}},
		"a topic":        &CreateTopics{Topics: []NewTopic{{Name: "a", Configs: map[string]string{"k": bad}}}},
		"a rule":         &CreateACLs{Rules: []ACL{{Resource: auth.Topic, Name: bad}}},
		"a filter":       &DeleteACLs{Filters: []ACLFilter{{Principal: new(string)}, {Host: ptr(bad)}}},
		"a plugin":       &AlterPlugins{Changes: []PluginChange{{Name: "a", Spec: bad}}},
		"a rack":         &RegisterBroker{Rack: bad},
		"a feature":      &UpdateFeatures{Updates: []FeatureUpdate{{Name: bad}}},
	} {
		if b, err := EncodeCommand(c); !errors.Is(err, ErrUnreadable) || b != nil {
			t.Errorf("%s: %d bytes, error %v; want ErrUnreadable", says, len(b), err)
		}
	}
}

func ptr(s string) *string { return &s }
