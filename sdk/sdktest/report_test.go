package sdktest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/plugin"
)

func TestReportForPeople(t *testing.T) {
	r := &Report{Way: WayProgram, SHA256: "ab12", Plugin: plugin.Description{Kind: plugin.Retention, Name: "keep", Version: "1.2.3"}}
	for _, err := range []error{nil, skipped("it has none"), errors.New("9: it asks for more")} {
		r.Cases = append(r.Cases, Case{Name: "a/case", Says: "something holds"}.ended(err))
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"retention keep 1.2.3, program, sha256 ab12", "pass  a/case", "skip  a/case", "it has none", "fail  a/case", "9: it asks for more", "1 passed, 1 failed, 1 skipped"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if err := r.WriteText(brokenPipe{}); err == nil {
		t.Error("an error of the writer is lost")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWhatPasses(t *testing.T) {
	for want, cases := range map[bool][][]Case{
		true:  {{{Outcome: Pass}}, {{Outcome: Pass}, {Outcome: Skip}}},
		false: {{}, {{Outcome: Skip}}, {{Outcome: Pass}, {Outcome: Fail}}},
	} {
		for _, c := range cases {
			if r := (&Report{Cases: c}); r.Passed() != want {
				t.Errorf("%+v passes: %v", c, !want)
			}
		}
	}
}

// TestReportForMachines holds the names that scripts read.
func TestReportForMachines(t *testing.T) {
	r := Check(t.Context(), Subject{Source: Values(goodRetention().plugin()), Kind: plugin.Retention})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"plugin":{"kind":"retention","name":"good","version":"1.0.0"}`, `"way":"compiled in"`, `"cases":[{"name":"base/describe","says":"`, `"outcome":"pass","ms":`, `"outcome":"skip","why":"it has none"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// TestNoSecondName: each case can be named, and says what must hold.
func TestNoSecondName(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks() {
		if seen[c.name] || c.says == "" || strings.Count(c.name, "/") != 1 {
			t.Errorf("case %q: twice, without a text, or not of two parts", c.name)
		}
		seen[c.name] = true
	}
}

// TestWhoIsMeant: a program may have several plugins of a kind.
func TestWhoIsMeant(t *testing.T) {
	one, two := goodRetention().plugin(), goodRetention().plugin()
	two.Name = "other"
	for name, want := range map[string]string{"": "say which", "third": "there is no", "other": ""} {
		r := Check(t.Context(), Subject{Source: Values(one, two), Kind: plugin.Retention, Name: name})
		if r.Passed() != (want == "") || !strings.Contains(r.Cases[0].Why, want) {
			t.Errorf("%q: %+v, want %q", name, r.Cases[0], want)
		}
	}
}
