package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/settings"
)

func TestConfigShowTellsOrigins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	write(t, file, "node:\n  id: 4\n  rack: a\ndefaults:\n  num.partitions: 7\n")
	t.Setenv("MORTISE_NODE__RACK", "b")
	args := []string{"config", "show", "--config", file, "--data", "d", "--listen", "0.0.0.0:1", "--advertise", "h:2",
		"--admin-address=", "--node-id", "5", "--log-level", "debug", "--durability", "fsync"}
	want := map[string][2]string{
		"node.id": {"5", "flag --node-id"}, "node.rack": {"b", "environment MORTISE_NODE__RACK"},
		"data.dir": {"d", "flag --data"}, "log.level": {"debug", "flag --log-level"},
		"listeners":     {`[{"address":"0.0.0.0:1","advertised":"h:2","name":"PLAINTEXT"}]`, "flag --listen"},
		"admin.address": {"", "flag --admin-address"}, "durability": {"fsync", "flag --durability"},
		"shutdown.timeout": {"30s", "default"}, "defaults num.partitions": {"7", file + ":5"},
	}
	for _, v := range decode[[]settings.Value](t, must(t, "", "", append(args, "-o", "json")...)) {
		if w, ok := want[v.Key]; ok && (v.Text() != w[0] || v.Origin != w[1]) {
			t.Errorf("%s is %s from %s, want %v", v.Key, v.Text(), v.Origin, w)
		}
		delete(want, v.Key)
	}
	if len(want) > 0 {
		t.Errorf("not shown: %v", want)
	}
	text := strings.Join(strings.Fields(must(t, "", "", args...)), " ")
	for _, line := range []string{"KEY", "node.id 5", `[{"address":"0.0.0.0:1"`, file + ":5"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	write(t, file, "node:\n  id: x\n")
	t.Setenv("MORTISE_CONFIG", file)
	r := run(t, "", "", "config", "check")
	if want := "the settings are wrong\n" + file + `:2: node.id: "x" is not a number (want integer from 0)`; r.code != 2 || r.err.Error() != want {
		t.Errorf("code %d: %v, want %s", r.code, r.err, want)
	}
	write(t, file, "node:\n  id: 3\n")
	if out := must(t, "", "", "config", "check"); out != "ok\n" {
		t.Errorf("%q", out)
	}
	if out := must(t, "", "", "config", "check", "-o", "json"); out != "{\n  \"ok\": true\n}\n" {
		t.Errorf("%q", out)
	}
	write(t, file, `cluster: {listen: "127.0.0.1:9390", gossip: {keys_file: nosuch.keys}}`)
	fails(t, "", "", 2, "cluster.gossip.keys_file: open nosuch.keys: no such file", "config", "check")
}

// TestReferenceIsWhole holds `config show --keys` to every key that there is, each
// with a meaning.
func TestReferenceIsWhole(t *testing.T) {
	views := decode[[]keyView](t, must(t, "", "", "config", "show", "--keys", "-o", "json"))
	for _, v := range views {
		if v.Doc == "" || v.Type == "" {
			t.Errorf("%+v", v)
		}
	}
	for _, want := range []string{"node.id", "listeners", "durability", "defaults num.partitions", "defaults log.retention.ms"} {
		if !slices.ContainsFunc(views, func(v keyView) bool { return v.Key == want }) {
			t.Errorf("no %s", want)
		}
	}
	if text := must(t, "", "", "config", "show", "--keys"); strings.Count(text, "\n") != len(views)+1 || !strings.Contains(text, " live ") {
		t.Errorf("the text has not a line for each of %d keys", len(views))
	}
}
