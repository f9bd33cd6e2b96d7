package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/sdktest"
)

// TestContracts checks every example, in each language, as a program; the tests beside
// those in Go check them as values too.
func TestContracts(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	python := os.Getenv(pythonKey)
	for _, e := range []struct {
		kind                          plugin.Kind
		command, script, name, config string
	}{
		{plugin.Partitioner, "prefixpartitioner", "prefix_partitioner.py", "prefix", `{"separator":"-"}`},
		{plugin.Authenticator, "signedpasswords", "signed_passwords.py", "signed", fmt.Sprintf(`{"secret_file":%q}`, secret)},
		{plugin.Authorizer, "teamtopics", "team_topics.py", "teams", ``},
		{plugin.Retention, "keepnewest", "keep_newest.py", "keep-newest", `{"segments":2}`},
	} {
		t.Run(e.command, func(t *testing.T) {
			program := host.Command{Path: filepath.Join(os.Getenv(builtKey), e.command)}
			sdktest.Run(t, sdktest.Program(program), e.kind, e.name, e.config)
		})
		t.Run(e.script, func(t *testing.T) {
			if python == "" {
				t.Skip(pythonKey + " is not set")
			}
			script, err := filepath.Abs(filepath.Join("python", e.script))
			if err != nil {
				t.Fatal(err)
			}
			sdktest.Run(t, sdktest.Program(host.Command{Path: python, Args: []string{script}}), e.kind, e.name, e.config)
		})
	}
}
