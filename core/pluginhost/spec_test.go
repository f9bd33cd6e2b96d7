package pluginhost

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

func TestSpecCheck(t *testing.T) {
	good := func() Spec {
		return Spec{Name: "a-1", Kind: plugin.Authorizer, Path: "/opt/a", Enabled: true, Timeout: Duration(time.Second),
			Env: map[string]string{"A": "b"}, SHA256: map[string]string{"linux/amd64": digest}, Config: []byte(`{"a": 1}`)}
	}
	if s := good(); s.Check() != nil {
		t.Fatalf("a good entry: %v", s.Check())
	}
	cases := map[string]struct {
		change func(*Spec)
		text   string
	}{
		"name":             {func(s *Spec) { s.Name = "A b" }, `name "A b"`},
		"kind":             {func(s *Spec) { s.Kind = "tier" }, `kind "tier" is none of`},
		"nothing to run":   {func(s *Spec) { s.Path = "" }, "one of builtin and path"},
		"two to run":       {func(s *Spec) { s.Builtin = "x" }, "only one can be"},
		"relative":         {func(s *Spec) { s.Path = "a" }, "not a clean absolute path"},
		"dots":             {func(s *Spec) { s.Path = "/opt/../a" }, "not a clean absolute path"},
		"zero byte":        {func(s *Spec) { s.Path = "/opt/\x00" }, "not a clean absolute path"},
		"builtin with env": {func(s *Spec) { s.Builtin, s.Path, s.SHA256 = "x", "", nil }, "a builtin has no"},
		"builtin's name":   {func(s *Spec) { s.Builtin, s.Path, s.SHA256, s.Env = "X", "", nil, nil }, `builtin "X"`},
		"plugin's name":    {func(s *Spec) { s.Plugin = "_" }, `plugin "_"`},
		"platform":         {func(s *Spec) { s.SHA256 = map[string]string{"linux": digest} }, "not os/arch"},
		"digest":           {func(s *Spec) { s.SHA256["linux/amd64"] = "00" }, "64 hexadecimal digits"},
		"broker's env":     {func(s *Spec) { s.Env["PLUGIN_CLIENT_CERT"] = "" }, "belongs to the broker"},
		"env of no name":   {func(s *Spec) { s.Env["A=B"] = "" }, "can't be set"},
		"zero byte in arg": {func(s *Spec) { s.Args = []string{"\x00"} }, "zero byte"},
		"args":             {func(s *Spec) { s.Args = make([]string, ArgsMax+1) }, "65 args"},
		"timeout":          {func(s *Spec) { s.Timeout = Duration(TimeoutMax + 1) }, "timeout"},
		"concurrency":      {func(s *Spec) { s.Concurrency = -1 }, "concurrency -1"},
		"queue":            {func(s *Spec) { s.Queue = QueueMax + 1 }, "queue 65537"},
		"memory":           {func(s *Spec) { s.MemoryMax = 1 }, "memory_max 1"},
		"config":           {func(s *Spec) { s.Config = []byte(`[1]`) }, "config"},
		"null config":      {func(s *Spec) { s.Config = []byte(`null`) }, "null is no JSON object"},
		"large config":     {func(s *Spec) { s.Config = make([]byte, ConfigMax+1) }, "config of"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := good()
			c.change(&s)
			if err := s.Check(); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %q", err, c.text)
			}
		})
	}
	s := good()
	s.Name, s.Timeout, s.Path = "!", -1, "x"
	if got := strings.Count(s.Check().Error(), "\n") + 1; got != 3 {
		t.Errorf("%d mistakes are told, want all 3: %v", got, s.Check())
	}
}

// TestSpecIsTextAndBack holds the names that settings and the catalogue have.
func TestSpecIsTextAndBack(t *testing.T) {
	const text = `{"name":"a","kind":"retention","path":"/a","plugin":"b","version":"1","args":["-x"],"env":{"A":"b"},"config":{"k":1},` +
		`"sha256":{"linux/amd64":"` + digest + `"},"enabled":true,"required":true,"timeout":"1.5s","concurrency":2,"queue":3,` +
		`"memory_max":67108864,"run_as":{"uid":1,"gid":2},"allow_remap":true}`
	s, err := ParseSpec([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if s.timeout() != 1500*time.Millisecond || s.RunAs.GID != 2 || s.Check() != nil {
		t.Errorf("%+v, %v", s, s.Check())
	}
	back, err := json.Marshal(s)
	if err != nil || string(back) != text {
		t.Errorf("%s, %v\nwant %s", back, err, text)
	}
	if c := s.clone(); !reflect.DeepEqual(*c, s) || &c.Args[0] == &s.Args[0] || c.RunAs == s.RunAs {
		t.Errorf("the clone %+v is not equal, or shares", c)
	}
	for _, wrong := range []string{`{"nam":"a"}`, `{"timeout":5}`, `{"timeout":"soon"}`, `[]`, `{} {}`} {
		if _, err := ParseSpec([]byte(wrong)); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: %v, want ErrSpec", wrong, err)
		}
	}
}

// FuzzParseSpec holds that no text panics, and that what is read is read again.
func FuzzParseSpec(f *testing.F) {
	f.Add([]byte(`{"name":"a","kind":"retention","builtin":"b","enabled":true,"timeout":"1s"}`))
	f.Add([]byte(`{"env":{"":""},"sha256":{"/":""},"config":null}`))
	f.Add([]byte(`{"run_as":{"uid":4294967295}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSpec(text)
		if err != nil {
			return
		}
		_ = s.Check()
		if s.digest(); !s.same(s.clone()) {
			t.Errorf("%+v is not the same as its clone", s)
		}
		back, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseSpec(back)
		if s.Config = again.Config; err != nil || !s.same(&again) { // of which JSON escapes more
			t.Errorf("%s\nagain %+v, %v", back, again, err)
		}
	})
}

// TestSameEntry holds what an upgrade is: anything but what is only shown, and
// layout.
func TestSameEntry(t *testing.T) {
	base := Spec{Name: "a", Kind: plugin.Retention, Path: "/a", Enabled: true}
	equal := map[string]func(*Spec){
		"required":     func(s *Spec) { s.Required = true },
		"empty config": func(s *Spec) { s.Config = []byte(" { } ") },
		"empty lists":  func(s *Spec) { s.Args, s.Env, s.SHA256 = []string{}, map[string]string{}, map[string]string{} },
	}
	other := map[string]func(*Spec){
		"path":    func(s *Spec) { s.Path = "/b" },
		"args":    func(s *Spec) { s.Args = []string{"x"} },
		"env":     func(s *Spec) { s.Env = map[string]string{"a": "b"} },
		"digest":  func(s *Spec) { s.SHA256 = map[string]string{"linux/amd64": digest} },
		"config":  func(s *Spec) { s.Config = []byte(`{"a":1}`) },
		"timeout": func(s *Spec) { s.Timeout = 1 },
		"run as":  func(s *Spec) { s.RunAs = &RunAs{} },
		"enabled": func(s *Spec) { s.Enabled = false },
	}
	for name, change := range equal {
		if c := base.clone(); !func() bool { change(c); return base.same(c) }() {
			t.Errorf("%s makes another entry", name)
		}
	}
	for name, change := range other {
		if c := base.clone(); func() bool { change(c); return base.same(c) || c.same(&base) }() {
			t.Errorf("%s makes no other entry", name)
		}
	}
}
