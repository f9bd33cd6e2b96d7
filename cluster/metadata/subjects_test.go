package metadata

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
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
		{&AlterConfigs{Changes: []ConfigChange{{Type: meta.ResourceTopic, Name: "t", Values: map[string]string{"password": "secret"}}}}, "alter configs", []string{"2:t"}},
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
