package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/sdktest"
)

// example is the program of an example of the sdk, built once beside the binary of the
// tests: to link it takes seconds.
var example = sync.OnceValues(func() (path string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path = filepath.Join(filepath.Dir(self), "prefixpartitioner")
	if out, err := exec.Command("go", "build", "-o", path, "../../sdk/examples/prefixpartitioner").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// program gives a test the example as a file of its own.
func program(t testing.TB) string {
	t.Helper()
	built, err := example()
	if err != nil {
		t.Fatal(err)
	}
	return copied(t, built, filepath.Base(built))
}

// copied gives a program another name. Another process writes the file: what this one
// has open to write, a program that it starts meanwhile would have open, too, and could
// not be run.
func copied(t testing.TB, program, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "cp", program, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// runDir is a short path for the sockets of plugins.
func runDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// patientACL is an entry of the rules whose answers may come late: who asks for rights on a
// machine that is very busy is not told that nobody knows.
func patientACL() pluginhost.Spec {
	return pluginhost.Spec{Name: "acl", Kind: plugin.Authorizer, Builtin: "acl", Enabled: true, Timeout: pluginhost.Duration(pluginhost.TimeoutMax)}
}

// startPlugins runs a node with the built-ins and entries of its settings, which
// commands find without --admin. Rules are kept there, and everybody may do everything.
func startPlugins(t *testing.T, entries ...pluginhost.Spec) *nodetest.Node {
	t.Helper()
	n := nodetest.Start(t, nodetest.Options{Retention: builtinRetention(), Admin: true,
		Security: broker.Security{SuperUsers: []string{"User:ANONYMOUS"}, Plugins: []string{"acl"}},
		Plugins: broker.Plugins{Builtins: builtins(), RunDir: runDir(t),
			Catalogue: append(entries, patientACL())}})
	t.Setenv("MORTISE_ADMIN", n.AdminAddr())
	return n
}

// described is an entry as describe -o json has it.
func described(t *testing.T, name string) broker.PluginReport {
	t.Helper()
	return decode[broker.PluginReport](t, must(t, "", "", "plugin", "describe", name, "-o", "json"))
}

// TestPluginLife takes a real program through every command against a running node.
func TestPluginLife(t *testing.T) {
	n := startPlugins(t)
	path := program(t)
	says := func(want string, args ...string) {
		t.Helper()
		if got := must(t, "", "", append([]string{"plugin"}, args...)...); !strings.Contains(got, want) {
			t.Errorf("plugin %v: no %q in\n%s", args, want, got)
		}
	}
	says("prefixes would run: partitioner prefix", "install", "prefixes", path, "--kind", "partitioner", "--plugin", "prefix", "--dry-run")
	fails(t, "", "", output.ExitFailure, "has no plugin prefixes", "plugin", "describe", "prefixes")
	says("prefixes is serving: partitioner prefix", "install", "prefixes", path, "--kind", "partitioner", "--plugin", "prefix", "--timeout", "1s")
	first := described(t, "prefixes")
	if first.From != "cluster" || first.State != pluginhost.Serving || first.Entry.Path != path || len(first.Entry.SHA256) != 1 || first.Changed == 0 {
		t.Errorf("%+v", first)
	}
	fails(t, "", "", output.ExitFailure, "there is an entry prefixes", "plugin", "install", "prefixes", path, "--kind", "partitioner")
	fails(t, "", "", output.ExitUsage, "nothing to change", "plugin", "upgrade", "prefixes")
	fails(t, "", "", output.ExitFailure, `unknown field "nosuch"`, "plugin", "upgrade", "prefixes", "--config", `{"nosuch": 1}`)
	says("generation 2; what served before stands by", "upgrade", "prefixes", "--config", `{"separator": "-"}`)
	second := described(t, "prefixes")
	if second.Generation <= first.Generation || second.Changed <= first.Changed || second.Entry.Timeout != first.Entry.Timeout || second.Errors != nil {
		t.Errorf("%+v after %+v", second, first)
	}
	if text := must(t, "", "", "plugin", "describe", "prefixes"); strings.Contains(text, "separator") || !strings.Contains(text, "config") {
		t.Errorf("the config is shown, or that there is one is not:\n%s", text)
	}
	says("serving", "rollback", "prefixes")
	if back := described(t, "prefixes"); back.PID != first.PID || len(back.Entry.Config) > 0 {
		t.Errorf("rolled back to %+v, want the process %d", back, first.PID)
	}
	fails(t, "", "", output.ExitFailure, "no version to go back to", "plugin", "rollback", "prefixes")
	says("serving", "restart", "prefixes")
	if again := described(t, "prefixes"); again.PID == first.PID || again.Restarts != 1 {
		t.Errorf("restarted as %+v", again)
	}
	says("disabled", "disable", "prefixes")
	n.Restart()
	t.Setenv("MORTISE_ADMIN", n.AdminAddr())
	if off := described(t, "prefixes"); off.State != pluginhost.Disabled || off.Serves() {
		t.Errorf("after a restart of the broker: %+v", off)
	}
	says("serving", "enable", "prefixes")
	says("prefixes", "list")
	if r := run(t, "", "", "plugin", "logs", "murmur2"); r.err != nil || r.out != "" || !strings.Contains(r.errs, "murmur2 has written nothing") {
		t.Errorf("logs of who wrote nothing: %+v", r)
	}
	must(t, "", "", "plugin", "logs", "prefixes", "-n", "3")
	says("removed", "remove", "prefixes")
	says("prefix is serving: partitioner prefix", "install", path) // the program says the rest
	says("removed", "remove", "prefix")
	fails(t, "", "", output.ExitFailure, "has no plugin prefixes", "plugin", "logs", "prefixes")
}

// TestPluginOfAProgramThatChanges holds that a program which was replaced does not run
// until somebody says so.
func TestPluginOfAProgramThatChanges(t *testing.T) {
	startPlugins(t)
	path := program(t)
	must(t, "", "", "plugin", "install", "prefix", path, "--kind", "partitioner")
	before := described(t, "prefix")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // it runs: it can't be written to
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(content, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	fails(t, "", "", output.ExitFailure, "SHA-256 of the plugin's file is not the expected one", "plugin", "upgrade", "prefix", "--config", `{"separator":"-"}`, "--sha256", before.Entry.SHA256[pluginhost.Platform()])
	if still := described(t, "prefix"); still.PID != before.PID || still.Changed != before.Changed {
		t.Errorf("%+v, want what was", still)
	}
	must(t, "", "", "plugin", "upgrade", "prefix")
	if now := described(t, "prefix"); now.PID == before.PID || now.Entry.SHA256[pluginhost.Platform()] == before.Entry.SHA256[pluginhost.Platform()] {
		t.Errorf("%+v after %+v", now, before)
	}
}

// TestPluginOfSettings holds who may change an entry of the settings file.
func TestPluginOfSettings(t *testing.T) {
	startPlugins(t, pluginhost.Spec{Name: "mine", Kind: plugin.Partitioner, Builtin: "crc32", Enabled: true, Config: json.RawMessage(`{"partitioner":"consistent"}`)})
	for _, line := range []string{"plugin disable mine", "plugin upgrade mine --config {}", "plugin install mine --builtin murmur2"} {
		fails(t, "", "", output.ExitFailure, "mine is an entry of this broker's settings", strings.Fields(line)...)
	}
	fails(t, "", "", output.ExitFailure, "take it out of the file", "plugin", "remove", "mine")
	must(t, "", "", "plugin", "disable", "mine", "--override")
	if p := described(t, "mine"); p.From != "cluster" || p.Covers != "settings" || p.State != pluginhost.Disabled {
		t.Errorf("%+v", p)
	}
	must(t, "", "", "plugin", "remove", "mine")
	if p := described(t, "mine"); p.From != "settings" || p.State != pluginhost.Serving {
		t.Errorf("%+v", p)
	}
	fails(t, "", "", output.ExitFailure, "it can be disabled", "plugin", "remove", "murmur2")
	must(t, "", "", "plugin", "disable", "murmur2")
	must(t, "", "", "plugin", "remove", "murmur2")
	if p := described(t, "murmur2"); p.From != "builtin" || !p.Serves() {
		t.Errorf("%+v", p)
	}
}

// TestPluginWithoutToken holds that those who can't read the broker's files change
// nothing, and are told what they need.
func TestPluginWithoutToken(t *testing.T) {
	n := startPlugins(t)
	t.Setenv("MORTISE_ADMIN_TOKEN", strings.Repeat("0", 64))
	fails(t, "", "", output.ExitFailure, "changes need the token of "+filepath.Join(n.DataDir(), "admin.token"), "plugin", "disable", "murmur2")
	t.Setenv("MORTISE_ADMIN_TOKEN", "")
	file := filepath.Join(n.DataDir(), "admin.token")
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file that only the broker's user reads", info.Mode(), err)
	}
	write(t, file, "secret of somebody else\n")
	fails(t, "", "", output.ExitFailure, "has no token", "plugin", "disable", "murmur2")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fails(t, "", "", output.ExitFailure, "MORTISE_ADMIN_TOKEN", "plugin", "disable", "murmur2")
	t.Setenv("MORTISE_ADMIN_TOKEN", strings.TrimSpace(string(token)))
	must(t, "", "", "plugin", "disable", "murmur2")
	if p := described(t, "murmur2"); p.State != pluginhost.Disabled {
		t.Errorf("%+v", p)
	}
}

// TestPluginList holds the forms of the list.
func TestPluginList(t *testing.T) {
	startPlugins(t)
	v := decode[pluginsView](t, must(t, "", "", "plugin", "list", "-o", "json"))
	if len(v.Brokers) != 1 || len(v.Brokers[0].Builtins) != len(builtins()) || v.Brokers[0].Platform != pluginhost.Platform() {
		t.Fatalf("%+v", v)
	}
	if !slices.ContainsFunc(v.Brokers[0].Plugins, func(p broker.PluginReport) bool {
		return p.Name == "murmur2" && p.Kind == plugin.Partitioner && p.From == "builtin" && p.Serves()
	}) {
		t.Errorf("%+v", v.Brokers[0].Plugins)
	}
	for _, p := range builtins() {
		if out := must(t, "", "", "plugin", "list", "--builtin"); !strings.Contains(out, p.Name+" ") {
			t.Errorf("no %s in\n%s", p.Name, out)
		}
		if out := must(t, "", "", "plugin", "describe", string(p.Kind)+"/"+p.Name); !strings.Contains(out, p.Summary) {
			t.Errorf("%s:\n%s", p.Name, out)
		}
	}
	out := must(t, "", "", "plugin", "list", "--admin", os.Getenv("MORTISE_ADMIN")+",127.0.0.1:1")
	if !strings.Contains(out, "not known: no admin listener at 127.0.0.1:1") {
		t.Errorf("a broker that does not answer is not told:\n%s", out)
	}
}

func TestPluginCommandLines(t *testing.T) {
	t.Setenv("MORTISE_ADMIN", "127.0.0.1:1")
	for _, c := range []struct{ line, want string }{
		{"plugin", "wants a sub-command"},
		{"plugin install", "between 1 and 2 arg"},
		{"plugin install x", "write the PATH of a program, with a slash in it, such as ./x, or --builtin NAME"},
		{"plugin install x /p --builtin y", "not both"},
		{"plugin check", "write the path of a program, or --builtin"},
		{"plugin check x --builtin y", "write the path of a program, or --builtin"},
		{"plugin check --builtin murmur2", `no built-in "murmur2"`},
		{"plugin check x --facts {\"nosuch\":1}", "--facts"},
		{"plugin new partitioner", "--dir"},
		{"plugin new sorter --dir x", "no such kind"},
		{"plugin new partitioner --lang cobol --dir x", "no such language"},
		{"plugin new partitioner --dir x --name X", "lower-case"},
		{"plugin install x /p --kind y", `--kind "y"; write one of partitioner`},
		{"plugin install x --builtin y --config [1]", "--config"},
		{"plugin install x --builtin y --config nosuch.json", "nosuch.json"},
		{"plugin install x --builtin y --run-as me", `--run-as "me": want UID:GID`},
		{"plugin install x --builtin y --env A", `"A" is not KEY=VALUE`},
		{"plugin logs x --last -1", "--last -1"},
		{"plugin run murmur2", `no built-in "murmur2"; write one of partitioner/murmur2`},
		{"plugin run authenticator/murmur2", "no built-in"},
	} {
		fails(t, "", "", output.ExitUsage, c.want, strings.Fields(c.line)...)
	}
	for _, line := range []string{"plugin list", "plugin describe x", "plugin logs x", "plugin enable x", "plugin install x --builtin y"} {
		fails(t, "", "", output.ExitFailure, "no admin listener at 127.0.0.1:1", strings.Fields(line)...)
	}
}

// TestPluginCheck holds that a program which keeps its contract passes, and that what
// is no plugin does not.
func TestPluginCheck(t *testing.T) {
	r := decode[sdktest.Report](t, must(t, "", "", "plugin", "check", program(t), "-o", "json"))
	if r.Plugin.Name != "prefix" || !r.Passed() || len(r.Cases) < 10 || r.SHA256 == "" {
		t.Errorf("%+v", r)
	}
	fails(t, "", "", output.ExitFailure, "handshake", "plugin", "check", "/bin/true")
	if r := run(t, "", "", "plugin", "check", "/bin/true", "--kind", "partitioner", "--plugin", "x"); r.code != output.ExitFailure || !strings.Contains(r.out, "fail") {
		t.Errorf("%d %v\n%s", r.code, r.err, r.out)
	}
}

// TestPluginNew holds that what new writes is said, and is not written over.
func TestPluginNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	v := decode[newPluginView](t, must(t, "", "", "plugin", "new", "retention", "--lang", "python", "--dir", dir, "-o", "json"))
	for _, name := range v.Files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if len(v.Files) < 3 || v.Dir != dir {
		t.Errorf("%+v", v)
	}
	fails(t, "", "", output.ExitFailure, "not empty", "plugin", "new", "retention", "--dir", dir)
}

// TestGivenDigests holds what --sha256 takes.
func TestGivenDigests(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	got, err := givenDigests([]string{a, "linux/arm64=" + b}, "linux/amd64")
	if err != nil || fmt.Sprint(got) != fmt.Sprint(map[string]string{"linux/amd64": a, "linux/arm64": b}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "xyz", a + "a", "linux/amd64=", strings.Repeat("g", 64)} {
		if _, err := givenDigests([]string{bad}, "linux/amd64"); output.ExitCode(err) != output.ExitUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestPluginRunIsAProgram starts the real binary as a broker would be told to.
func TestPluginRunIsAProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := copied(t, self, "mortise") // which is what TestMain makes of it
	var out bytes.Buffer
	c := exec.CommandContext(t.Context(), path, "plugin", "run", "partitioner/murmur2")
	c.Stderr = &out
	if err := c.Run(); c.ProcessState.ExitCode() != output.ExitUsage || !strings.Contains(out.String(), "murmur2") {
		t.Errorf("by hand: %v\n%s", err, out.String())
	}
	startPlugins(t)
	must(t, "", "", "plugin", "install", "murmur2", path, "--kind", "partitioner", "--arg", "plugin", "--arg", "run", "--arg", "partitioner/murmur2")
	if p := described(t, "murmur2"); p.PID == 0 || p.Covers != "builtin" || !p.Serves() {
		t.Errorf("%+v", p)
	}
}

// TestTokenOfAFileStaysHere holds that a broker elsewhere, which may name any file, is
// not told the token of the one here.
func TestTokenOfAFileStaysHere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admin.token")
	want := strings.Repeat("0a", 32)
	write(t, file, want+"\n")
	t.Setenv("MORTISE_ADMIN_TOKEN", "")
	for address, told := range map[string]bool{"127.0.0.1:9644": true, "http://localhost:9644": true, "192.0.2.1:9644": false} {
		d := pluginDesk{address: address, list: broker.PluginList{TokenFile: file}}
		if got, err := d.token(t.Context()); (got == want) != told || (err == nil) != told {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}
