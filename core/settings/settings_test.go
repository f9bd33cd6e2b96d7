package settings

import (
	"strings"
	"testing"
	"time"
)

// load reads a file text of the given name.
func load(t *testing.T, name, text string, environ ...string) (*Settings, error) {
	t.Helper()
	return Load(Source{File: name, FileText: []byte(text), Environ: environ})
}

func TestDefaultsAreWhole(t *testing.T) {
	s, err := Load(Source{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Node.ID != 1 || s.Data.Dir != "mortise-data" || s.Durability != PageCache || s.Shutdown.Timeout != 30*time.Second {
		t.Errorf("%+v", s)
	}
	if len(s.Listeners) != 1 || s.Listeners[0].Address != "127.0.0.1:9092" {
		t.Errorf("listeners %+v", s.Listeners)
	}
	if host, port := s.Listeners[0].AdvertisedHostPort(); host != "127.0.0.1" || port != 9092 {
		t.Errorf("advertised %s:%d", host, port)
	}
}

func TestLayersOutweighEachOther(t *testing.T) {
	s, err := Load(Source{
		File:     "m.yaml",
		FileText: []byte("node:\n  id: 2\n  rack: a\ndata:\n  dir: from-file\ndefaults:\n  log.retention.ms: 1000\n"),
		Environ:  []string{"MORTISE_DATA__DIR=from-env", "MORTISE_NODE__RACK=b", "MORTISE_DEFAULTS__LOG_RETENTION_MS=2000"},
		Flags:    map[string]string{"data/dir": "from-flag"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Node.ID != 2 || s.Node.Rack != "b" || s.Data.Dir != "from-flag" || s.Defaults["log.retention.ms"] != "2000" {
		t.Errorf("%+v", s)
	}
	want := map[string]string{
		"node.id": "m.yaml:2", "node.rack": "environment MORTISE_NODE__RACK", "data.dir": "flag --data",
		"defaults log.retention.ms": "environment MORTISE_DEFAULTS__LOG_RETENTION_MS", "log.level": "default",
	}
	for _, v := range s.Values() {
		if origin, ok := want[v.Key]; ok && v.Origin != origin {
			t.Errorf("%s comes from %q, want %q", v.Key, v.Origin, origin)
		}
		delete(want, v.Key)
	}
	if len(want) > 0 {
		t.Errorf("not shown: %v", want)
	}
}

// TestErrorsNameFileLineAndKey holds every kind of mistake to an error that
// says where it is (CONF-06, CONF-09).
func TestErrorsNameFileLineAndKey(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"unknown key":       {"m.yaml", "node:\n  idd: 1\n", "m.yaml:2: node.idd: unknown key; did you mean node.id?"},
		"unknown section":   {"m.yaml", "nodes: {}\n", "m.yaml:1: nodes: unknown key"},
		"unknown Kafka key": {"m.yaml", "defaults:\n  log.retention.mss: 1\n", "m.yaml:2: defaults log.retention.mss: unknown key; did you mean defaults log.retention.ms?"},
		"text for a number": {"m.yaml", "node:\n  id: foobar\n", `m.yaml:2: node.id: "foobar" is not a number`},
		"number in quotes":  {"m.yaml", "node:\n  id: \"100\"\n", `m.yaml:2: node.id: "100" is not a number`},
		"unit":              {"m.yaml", "node:\n  id: 1K\n", `m.yaml:2: node.id: "1K" is not a number`},
		"out of range":      {"m.yaml", "node:\n  id: -1\n", "m.yaml:2: node.id: -1 is not between"},
		"number for text":   {"m.yaml", "data:\n  dir: 5\n", "m.yaml:2: data.dir: 5 is not text"},
		"duration":          {"m.yaml", "shutdown:\n  timeout: 30\n", "m.yaml:2: shutdown.timeout: 30 is not a duration"},
		"one of":            {"m.yaml", "durability: always\n", `m.yaml:1: durability: "always" is none that there is (want page-cache or fsync)`},
		"Kafka value":       {"m.yaml", "defaults:\n  num.partitions: none\n", "m.yaml:2: defaults num.partitions:"},
		"nested Kafka key":  {"m.yaml", "defaults:\n  log.retention.ms:\n    x: 1\n", "m.yaml:2: defaults log.retention.ms:"},
		"Kafka keys that contradict each other": {"m.yaml", "defaults:\n  num.partitions: 2\n  group.consumer.heartbeat.interval.ms: 1000\n",
			"m.yaml:3: defaults group.consumer.heartbeat.interval.ms: group.consumer.heartbeat.interval.ms must be greater than or equal to group.consumer.min.heartbeat.interval.ms"},
		"section as value": {"m.yaml", "node: 5\n", "m.yaml:1: node: 5 is not a section"},
		"key twice":        {"m.json", "{\"durability\": \"fsync\",\n\"durability\": \"page-cache\"}", "m.json:2: durability stands on line 1 already"},
		"TOML":             {"m.toml", "durability = \"fsync\"\n\n[node]\nid = \"x\"\n", `m.toml:4: node.id: "x" is not a number`},
		"JSON":             {"m.json", "{\n\"node\": {\n\"id\": 1.5}}", "m.json:3: node.id: 1.5 is not a whole number"},
		"broken YAML":      {"m.yaml", "node: {id: 1}\nlog: [\n", "m.yaml:2: did not find"},
		"broken JSON":      {"m.json", "{\"node\": {\n\"id\": 1,}}", "m.json:2: invalid character"},
		"broken TOML":      {"m.toml", "[node]\nid = 1\n[log\n", "m.toml:3: "},
		"TOML key twice":   {"m.toml", "[node]\nid = 1\nid = 2\n", "m.toml:3: "},
		"TOML dotted key":  {"m.toml", "[defaults]\nlog.retention.ms = 5\n", `m.toml:2: defaults log.retention.ms: unknown key; write Kafka's key whole and in quotes: "log.retention.ms"`},
		"TOML listener":    {"m.toml", "[[listeners]]\nname = \"A\"\naddress = \"h:1\"\n[[listeners]]\nname = \"b\"\n", "m.toml:5: listeners: listener 2: name: "},
		"admin address":    {"m.yaml", "admin:\n  address: junk\n", `m.yaml:2: admin.address: "junk" is not host:port (want host:port)`},
		"profiling":        {"m.yaml", "admin: {profiling: often}\n", `m.yaml:1: admin.profiling: "often" is neither true nor false`},
		"profiling nowhere": {"m.yaml", "admin: {address: \"\", profiling: true}\n",
			"m.yaml:1: admin.profiling: there is no admin.address to serve profiles on"},
		"admin on a listener": {"m.yaml", "admin:\n  address: \"127.0.0.1:9092\"\n",
			"m.yaml:2: admin.address: 127.0.0.1:9092 is taken by the listener PLAINTEXT"},
		"address twice": {"m.yaml", "listeners:\n  - {name: A, address: \"h:1\"}\n  - name: B\n    address: \"h:1\"\n",
			"m.yaml:4: listeners: listener 2: address: h:1 is taken by listener 1"},
		"log folder twice":   {"m.yaml", "data:\n  log_dirs: [a, ./a]\n", "m.yaml:2: data.log_dirs: ./a is there twice"},
		"ending":             {"m.conf", "", "must end in .yaml"},
		"advertise nothing":  {"m.yaml", "listeners:\n  - {name: PLAINTEXT, address: \"0.0.0.0:9092\"}\n", `m.yaml:2: listeners: listener 1: advertised: missing; 0.0.0.0:9092 means every address of this machine, and clients can't connect to that; write the one that they can reach, for example advertised: "broker1.example.com:9092"`},
		"advertise wildcard": {"m.yaml", "listeners:\n  - {name: PLAINTEXT, address: \"h:1\", advertised: \"[::]:9092\"}\n", "clients can't connect to [::]:9092"},
		"listener twice":     {"m.yaml", "listeners:\n  - {name: A, address: \"h:1\"}\n  - {name: A, address: \"h:2\"}\n", "m.yaml:3: listeners: listener 2: name: A is the name of listener 1 too"},
		"listener field":     {"m.yaml", "listeners:\n  - {nam: A}\n", "m.yaml:2: listeners: listener 1: nam: no such field"},
	} {
		_, err := load(t, c.file, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestKafkaKeysAreCheckedTogether: each of these is refused without the other.
func TestKafkaKeysAreCheckedTogether(t *testing.T) {
	s, err := load(t, "m.yaml", "defaults: {group.consumer.heartbeat.interval.ms: 1000, group.consumer.min.heartbeat.interval.ms: 500}\n")
	if err != nil || len(s.Defaults) != 2 {
		t.Errorf("%v, want two keys", err)
	}
}

// TestOneMistakeIsOneProblem: TOML reads a Kafka key without quotes as a tree.
func TestOneMistakeIsOneProblem(t *testing.T) {
	_, err := load(t, "m.toml", "[defaults]\nlog.retention.ms = 5\n")
	if err == nil || strings.Count(err.Error(), "m.toml") != 1 || strings.Contains(err.Error(), "nil") {
		t.Errorf("%v, want one problem", err)
	}
}

func TestEveryProblemIsReported(t *testing.T) {
	_, err := load(t, "m.yaml", "node:\n  id: x\ndurability: y\nzzzzzzzz: 1\n")
	for _, want := range []string{"node.id", "durability", "zzzzzzzz"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// TestEnvironment holds that only our prefix counts (CONF-02) and that keys with
// underscores can be reached (CONF-01).
func TestEnvironment(t *testing.T) {
	s, err := Load(Source{Environ: []string{
		"LOG=x", "STORAGE=y", "NODE__ID=9", "MORTISE_CONFIG=elsewhere.yaml",
		"MORTISE_BROKERS=a:1", "MORTISE_ADMIN=a:2", "MORTISE_ADMIN_TOKEN=x", "MORTISE_USER=ann", "MORTISE_PASSWORD=x", "MORTISE_PASSWORD_FILE=x", // the clients'
		`MORTISE_DATA__LOG_DIRS=["a","b"]`, "MORTISE_NODE__ID=3",
		`MORTISE_LISTENERS=[{"name":"EXT","address":"0.0.0.0:1","advertised":"h:2"}]`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Data.LogDirs) != 2 || s.Node.ID != 3 || s.Listeners[0].Name != "EXT" {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{"MORTISE_NODE_ID=3", "MORTISE_NODE__ID=x", "MORTISE_LISTENERS=x", "MORTISE_DEFAULTS__NO_SUCH_KEY=1"} {
		name, _, _ := strings.Cut(bad, "=")
		if _, err := Load(Source{Environ: []string{bad}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestSameInEveryFormat(t *testing.T) {
	for file, text := range map[string]string{
		"m.yaml": "node: {id: 4}\ndefaults: {log.cleanup.policy: [compact, delete], auto.create.topics.enable: false}\n",
		"m.json": `{"node": {"id": 4}, "defaults": {"log.cleanup.policy": "compact,delete", "auto.create.topics.enable": false}}`,
		"m.toml": "[node]\nid = 4\n[defaults]\n\"log.cleanup.policy\" = [\"compact\", \"delete\"]\n\"auto.create.topics.enable\" = false\n",
	} {
		s, err := load(t, file, text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if s.Node.ID != 4 || s.Defaults["log.cleanup.policy"] != "compact,delete" || s.Defaults["auto.create.topics.enable"] != "false" {
			t.Errorf("%s: %+v", file, s)
		}
	}
}

// TestChanges holds that a reload says what waits for a restart (CONF-10).
func TestChanges(t *testing.T) {
	from, err := load(t, "m.yaml", "node: {id: 1}\ndefaults: {log.retention.ms: 5}\n")
	if err != nil {
		t.Fatal(err)
	}
	to, err := load(t, "m.yaml", "node: {id: 2}\nlog: {level: debug}\n")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, c := range Changes(from, to) {
		got[c.Key] = c.Restart
	}
	if restart, ok := got["node.id"]; !ok || !restart {
		t.Errorf("node.id: %v", got)
	}
	if restart, ok := got["log.level"]; !ok || restart {
		t.Errorf("log.level: %v", got)
	}
	if _, ok := got["defaults log.retention.ms"]; !ok || len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// TestInForce holds that what waits for a restart is not shown as if it worked.
func TestInForce(t *testing.T) {
	was, err := load(t, "m.yaml", "node: {id: 1}\ndurability: page-cache\ndefaults: {num.partitions: 2, log.retention.ms: 5}\n")
	if err != nil {
		t.Fatal(err)
	}
	next, err := load(t, "m.yaml", "node: {id: 2}\nlog: {level: debug}\ndurability: fsync\nshutdown: {timeout: 5s}\ndefaults: {log.retention.ms: 6}\n")
	if err != nil {
		t.Fatal(err)
	}
	s := InForce(was, next)
	if s.Node.ID != 1 || s.Durability != PageCache || len(s.Listeners) != 1 || s.Data.Dir != "mortise-data" {
		t.Errorf("a value that waits for a restart is in force: %+v", s)
	}
	if s.Log.Level != "debug" || s.Shutdown.Timeout != 5*time.Second || s.Defaults["log.retention.ms"] != "6" {
		t.Errorf("a live value is not in force: %+v", s)
	}
	if again := Changes(s, next); len(again) == 0 || !again[0].Restart {
		t.Errorf("the next reload must tell again what waits: %v", again)
	}
	for n, v := range s.Values()[:len(Keys())] {
		if want := Keys()[n].Name(); v.Key != want {
			t.Errorf("value %d is %s, want %s", n, v.Key, want)
		}
	}
}

func TestProblemsComeInTheOrderOfLines(t *testing.T) {
	_, err := load(t, "m.yaml", "defaults:\n  nope: 1\ndurability: y\nnode:\n  id: x\n  zz: 1\nlog: 5\n", "MORTISE_SHUTDOWN__TIMEOUT=x")
	want := []string{"environment MORTISE_SHUTDOWN__TIMEOUT", "m.yaml:2", "m.yaml:3", "m.yaml:5", "m.yaml:6", "m.yaml:7"}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d problems, want %d:\n%v", len(lines), len(want), err)
	}
	for n, line := range lines {
		if !strings.HasPrefix(line, want[n]+": ") {
			t.Errorf("problem %d: %s; want %s", n, line, want[n])
		}
	}
}

func TestValueText(t *testing.T) {
	s, err := Load(Source{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Values() {
		if want := `[{"address":"127.0.0.1:9092","name":"PLAINTEXT"}]`; v.Key == "listeners" && v.Text() != want {
			t.Errorf("listeners are shown as %s, want %s", v.Text(), want)
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, name := range []string{"m.yaml", "m.json", "m.toml"} {
		f.Add(name, []byte("node: {id: 1}"))
		f.Add(name, []byte(`{"listeners": [{"name": 1}]}`))
		f.Add(name, []byte("[node]\nid = 1\n[[listeners]]\nname = \"A\"\n"))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		s, err := Load(Source{File: name, FileText: text})
		if (s == nil) == (err == nil) {
			t.Fatalf("settings %v and error %v", s, err)
		}
	})
}
