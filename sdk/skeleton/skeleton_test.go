package skeleton

import (
	"bytes"
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/sdktest"
)

// checkout is the source that this test belongs to.
const checkout = "../.."

// pythonKey names an interpreter that has the package mortise-plugin.
const pythonKey = "MORTISE_TEST_PYTHON"

// TestGoSkeletons builds what is written for each kind and checks it with the kit.
func TestGoSkeletons(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "my-"+string(kind))
			names, err := Write(Options{Kind: kind, Language: Go, Dir: dir, Checkout: checkout})
			if err != nil {
				t.Fatal(err)
			}
			if want := "main.go main_test.go README.md go.mod go.sum"; strings.Join(names, " ") != want {
				t.Errorf("wrote %q, want %s", names, want)
			}
			for _, name := range names[:2] {
				formatted(t, filepath.Join(dir, name))
			}
			run(t, dir, "go", "vet", ".")
			sdktest.Run(t, sdktest.Program(host.Command{Path: sdktest.Build(t, dir)}), kind, "my-"+string(kind), "")
		})
	}
}

// TestGoSkeletonTestsItself runs the test that is written.
func TestGoSkeletonTestsItself(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "passwords")
	if _, err := Write(Options{Kind: plugin.Authenticator, Language: Go, Dir: dir, Module: "example.com/a/b", Checkout: checkout}); err != nil {
		t.Fatal(err)
	}
	out := run(t, dir, "go", "test", "-v", ".")
	for _, want := range []string{"compiled_in/authenticator/accepts", "in_process/robust/parallel", "program/launch/orphan"} {
		if !bytes.Contains(out, []byte("--- PASS: TestContract/"+want)) {
			t.Errorf("%s did not pass:\n%s", want, out)
		}
	}
}

// TestPythonSkeletons runs the tests that are written for each kind and checks it with
// the kit.
func TestPythonSkeletons(t *testing.T) {
	python := os.Getenv(pythonKey)
	if python == "" {
		t.Skip(pythonKey + " is not set")
	}
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Write(Options{Kind: kind, Language: Python, Dir: dir, Name: "mine"}); err != nil {
				t.Fatal(err)
			}
			run(t, dir, python, "-m", "unittest")
			program := host.Command{Path: python, Args: []string{filepath.Join(dir, "plugin.py")}}
			config, facts := "", sdktest.Facts{}
			if kind == plugin.Authenticator {
				config, facts.Login = `{"users":{"alice":"a long password"}}`, &sdktest.Login{User: "alice", Password: "a long password"}
			}
			sdktest.Run(t, sdktest.Program(program), kind, "mine", config, facts)
		})
	}
}

// TestNothingIsOverwritten: not even a file with another name may be there.
func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	o := Options{Kind: plugin.Retention, Language: Python, Dir: dir, Name: "mine"}
	if _, err := Write(o); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(o); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("written twice: %v, want ErrNotEmpty", err)
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	for want, o := range map[error]Options{
		ErrKind:     {Kind: "listener", Language: Go, Name: "a"},
		ErrLanguage: {Kind: plugin.Retention, Language: "java", Name: "a"},
		ErrName:     {Kind: plugin.Retention, Language: Go, Name: "Mine"},
		ErrCheckout: {Kind: plugin.Retention, Language: Go, Name: "a", Checkout: "testdata"},
	} {
		o.Dir = filepath.Join(t.TempDir(), "new")
		if _, err := Write(o); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", o, err, want)
		}
	}
}

// TestWithoutCheckout: the README then says how versions are found.
func TestWithoutCheckout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	if _, err := Write(Options{Kind: plugin.Partitioner, Language: Go, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"README.md": "go mod tidy", "go.mod": "module example.com/mine\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v; want %q in it", name, text, err, want)
		}
	}
}

func formatted(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if good, err := format.Source(text); err != nil || !bytes.Equal(good, text) {
		t.Errorf("%s is not as gofmt writes it: %v", path, err)
	}
}

// run runs a command in a directory.
func run(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}
