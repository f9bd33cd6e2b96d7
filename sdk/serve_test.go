package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestMain is the tests, or, with a variable, a program of plugins.
func TestMain(m *testing.M) {
	if os.Getenv("SDK_TEST_SERVE") != "" {
		Serve(example())
	}
	os.Exit(m.Run())
}

func example() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{Name: "by-length", Version: "1.0.0", Summary: "the length of the key"},
		func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
			return partitioner.Func(func(_ string, key []byte, n int32) int32 { return int32(len(key)) % n }), nil
		})
}

// started runs the program with arguments and more environment.
func started(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Env = append(append(os.Environ(), "SDK_TEST_SERVE=1"), env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestByHand(t *testing.T) {
	stdout, stderr, code := started(t, nil)
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, "partitioner    by-length 1.0.0  the length of the key") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestDescribe(t *testing.T) {
	stdout, _, code := started(t, nil, "--describe")
	var got []plugin.Description
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitDone {
		t.Fatalf("exit %d, %v: %s", code, err, stdout)
	}
	if len(got) != 1 || got[0].Name != "by-length" || got[0].Kind != plugin.Partitioner {
		t.Errorf("described %+v", got)
	}
}

// TestNeedsACertificate serves nobody without the certificate of who may ask.
func TestNeedsACertificate(t *testing.T) {
	stdout, stderr, code := started(t, []string{handshake.CookieKey + "=" + handshake.CookieValue})
	if code != exitWrong || stdout != "" || !strings.Contains(stderr, handshake.CertificateKey) {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestNeedsADirectory says why it can't listen.
func TestNeedsADirectory(t *testing.T) {
	identity, err := handshake.NewIdentity(testTime)
	if err != nil {
		t.Fatal(err)
	}
	_, stderr, code := started(t, []string{
		handshake.CookieKey + "=" + handshake.CookieValue, handshake.CertificateKey + "=" + identity.PEM(),
		"PLUGIN_UNIX_SOCKET_DIR=/nowhere/at/all", "PLUGIN_PROTOCOL_VERSIONS=1",
	})
	if code != exitWrong || !strings.Contains(stderr, "PLUGIN_UNIX_SOCKET_DIR") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestServeRefusesMistakes(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]plugin.Plugin{{Kind: plugin.Partitioner, Name: "No Name"}}, &out, &errs, []string{"x"}); code != exitWrong || errs.Len() == 0 {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

// TestHandler writes lines with everything that the broker reads.
func TestHandler(t *testing.T) {
	var b bytes.Buffer
	slog.New(NewHandler(&b)).With("a", 1).Debug("hello", "b", "two")
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["msg"] != "hello" || line["level"] != "DEBUG" || line["a"] != 1.0 || line["b"] != "two" || line["time"] == nil {
		t.Errorf("line %s", b.String())
	}
}
