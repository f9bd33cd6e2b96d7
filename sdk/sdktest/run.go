package sdktest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Run checks the plugin and makes a subtest of each case.
func Run(t *testing.T, source Source, kind plugin.Kind, name, config string, facts ...Facts) {
	t.Helper()
	s := Subject{Source: source, Kind: kind, Name: name, Config: json.RawMessage(config)}
	if len(facts) > 0 {
		s.Facts = facts[0]
	}
	t.Run(source.way, func(t *testing.T) {
		r := Check(t.Context(), s)
		for _, c := range r.Cases {
			t.Run(c.Name, func(t *testing.T) {
				switch c.Outcome {
				case Fail:
					t.Errorf("%s: %s", c.Says, c.Why)
				case Skip:
					t.Skip(c.Why)
				}
			})
		}
		if !r.Passed() {
			t.Errorf("%d cases failed", r.count(Fail))
		}
	})
}

// Build builds the program in the directory and returns its path.
func Build(t testing.TB, directory string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	command := exec.Command("go", "build", "-o", path, ".")
	command.Dir, command.Stderr = directory, os.Stderr
	if err := command.Run(); err != nil {
		t.Fatalf("go build in %s: %v", directory, err)
	}
	return path
}
