package metadata

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// TestSubjects: a log names what people change, at most so many of them, and no values.
func TestSubjects(t *testing.T) {
	many := &CreateTopics{}
	for n := range subjectsMax + 3 {
		many.Topics = append(many.Topics, NewTopic{Name: fmt.Sprint("t", n)})
	}
	for _, c := range []struct {
		command Command
		name    string
		about   []string
	}{
		{&AlterConfigs{Changes: []ConfigChange{{Type: meta.ResourceTopic, Name: "t", Values: map[string]string{"password": "secret"}}}}, "alter configs", []string{"topic t"}},
		{&AlterConfigs{Changes: []ConfigChange{{Type: meta.ResourceBroker}, {Type: meta.ResourceBroker, Name: "3"}, {Type: meta.ResourceGroup, Name: "g"},
			{Type: meta.ResourceClientMetrics, Name: "m"}, {Type: meta.ResourceBrokerLogger, Name: "3"}}}, "alter configs",
			[]string{"all brokers", "broker 3", "group g", "client metrics m", "resource of type 8 3"}},
		{&CreateACLs{Rules: []ACL{{Principal: "User:a", Resource: auth.Topic, Name: "t"}}}, "create acls", []string{"User:a on topic t"}},
		{&UnregisterBroker{ID: 7}, "unregister broker", []string{"7"}},
		{&ElectLeaders{All: true}, "elect leaders", nil},
		{&AllocateProducerIDs{Count: 1}, "", nil},
		{&FenceBroker{ID: 7}, "", nil},
	} {
		if name, about := Subjects(c.command); name != c.name || !slices.Equal(about, c.about) || strings.Contains(fmt.Sprint(about), "secret") {
			t.Errorf("%T: %q %q, want %q %q", c.command, name, about, c.name, c.about)
		}
	}
	if _, about := Subjects(many); len(about) != subjectsMax+1 || about[subjectsMax] != "and 3 more" {
		t.Errorf("%q", about)
	}
	long := &CreateTopics{Topics: []NewTopic{{Name: strings.Repeat("t", subjectBytes+1)}}}
	if _, about := Subjects(long); len(about) != 1 || len(about[0]) != subjectBytes {
		t.Errorf("%d bytes of a name are logged, want %d", len(about[0]), subjectBytes)
	}
	r := Result{Err: kafka.ErrInvalidRequest.Err(""), Errors: []*kafka.Error{nil, kafka.ErrInvalidRequest.Err("")}, Topics: []meta.TopicResult{{}, {Err: kafka.ErrInvalidRequest.Err("")}}}
	if n := r.Refused(); n != 3 {
		t.Errorf("%d were refused, want 3", n)
	}
}
