package pluginhost

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Bounds of an entry.
const (
	ArgsMax        = 64
	EnvMax         = 64
	ConfigMax      = 1 << 20 // bytes
	TimeoutMax     = time.Minute
	ConcurrencyMax = 4096
	QueueMax       = 65536
	// MemoryMin is the smallest memory limit: less than a Go process needs to start.
	MemoryMin = 16 << 20
)

// Spec is one entry of the catalogue: what shall run. The zero value of an
// optional field means its default.
type Spec struct {
	Name string      `json:"name"` // of this use of the plugin; unique
	Kind plugin.Kind `json:"kind"`
	// Builtin names a compiled-in plugin; Path is the absolute path of a binary.
	// One of them is set.
	Builtin string `json:"builtin,omitempty"`
	Path    string `json:"path,omitempty"`
	// Plugin names one of the plugins that the binary has; empty: Name.
	Plugin string `json:"plugin,omitempty"`
	// Version is what the plugin must say it is; empty: any.
	Version string            `json:"version,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Config  json.RawMessage   `json:"config,omitempty"` // one JSON object
	// SHA256 are digests of the binary in hex, by platform ("linux/amd64").
	SHA256 map[string]string `json:"sha256,omitempty"`

	Enabled  bool `json:"enabled"`
	Required bool `json:"required,omitempty"` // only shown: its users decide what stays closed without it

	Timeout     Duration `json:"timeout,omitempty"`     // of a call; 0: by kind
	Concurrency int      `json:"concurrency,omitempty"` // calls at once; 0: 64
	Queue       int      `json:"queue,omitempty"`       // calls that wait; 0: 256
	MemoryMax   uint64   `json:"memory_max,omitempty"`  // bytes of RSS; 0: no limit
	RunAs       *RunAs   `json:"run_as,omitempty"`      // nil: as the broker
	// AllowRemap lets an upgrade of a deterministic partitioner send keys elsewhere.
	AllowRemap bool `json:"allow_remap,omitempty"`
}

// ParseSpec reads an entry from JSON. A key that is not known is an error; Check is
// the caller's.
func ParseSpec(text []byte) (Spec, error) {
	var s Spec
	if err := plugin.Decode(text, &s); err != nil {
		return Spec{}, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return s, nil
}

// RunAs is the user that a plugin's process runs as.
type RunAs struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}

// Platform is the key of this machine in Spec.SHA256.
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// Check says everything that is wrong with the entry; every error is an ErrSpec.
// It looks at no file.
func (s *Spec) Check() error {
	var all []error
	wrong := func(format string, args ...any) {
		all = append(all, fmt.Errorf("%w: %s: %s", ErrSpec, s.Name, fmt.Sprintf(format, args...)))
	}
	if !plugin.ValidName(s.Name) {
		wrong("name %q: use lower-case letters, digits and dashes, at most 64", s.Name)
	}
	if !s.Kind.Valid() {
		wrong("kind %q is none of %v", s.Kind, plugin.Kinds())
	}
	if s.Plugin != "" && !plugin.ValidName(s.Plugin) {
		wrong("plugin %q: use lower-case letters, digits and dashes, at most 64", s.Plugin)
	}
	switch {
	case s.Builtin == "" && s.Path == "":
		wrong("one of builtin and path is needed")
	case s.Builtin != "" && s.Path != "":
		wrong("builtin %q and path %q: only one can be", s.Builtin, s.Path)
	case s.Builtin != "":
		s.checkBuiltin(wrong)
	default:
		s.checkBinary(wrong)
	}
	s.checkLimits(wrong)
	if len(bytes.TrimSpace(s.Config)) > 0 {
		if err := checkObject(s.Config); err != nil {
			wrong("config: %v", err)
		}
	}
	return errors.Join(all...)
}

// checkBuiltin refuses what only a process can have.
func (s *Spec) checkBuiltin(wrong func(string, ...any)) {
	if !plugin.ValidName(s.Builtin) {
		wrong("builtin %q: use lower-case letters, digits and dashes, at most 64", s.Builtin)
	}
	if s.Plugin != "" || len(s.Args) > 0 || len(s.Env) > 0 || len(s.SHA256) > 0 || s.RunAs != nil || s.MemoryMax != 0 {
		wrong("a builtin has no plugin, args, env, sha256, run_as or memory_max")
	}
}

// checkBinary looks at what starts a process.
func (s *Spec) checkBinary(wrong func(string, ...any)) {
	if !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path || strings.ContainsRune(s.Path, 0) {
		wrong("path %q is not a clean absolute path", s.Path)
	}
	if len(s.Args) > ArgsMax || len(s.Env) > EnvMax {
		wrong("%d args and %d env: at most %d and %d", len(s.Args), len(s.Env), ArgsMax, EnvMax)
	}
	for _, a := range s.Args {
		if strings.ContainsRune(a, 0) {
			wrong("arg %q has a zero byte", a)
		}
	}
	for k, v := range s.Env {
		switch {
		case k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(v, 0):
			wrong("env %q can't be set", k)
		case strings.HasPrefix(k, "PLUGIN_") || strings.HasPrefix(k, "MORTISE_"):
			wrong("env %q belongs to the broker", k)
		}
	}
	for platform, digest := range s.SHA256 {
		if os, arch, ok := strings.Cut(platform, "/"); !ok || os == "" || arch == "" {
			wrong("sha256: platform %q is not os/arch", platform)
		}
		if b, err := hex.DecodeString(digest); err != nil || len(b) != 32 {
			wrong("sha256 of %s: %q is not 64 hexadecimal digits", platform, digest)
		}
	}
}

// checkLimits holds numbers to their bounds.
func (s *Spec) checkLimits(wrong func(string, ...any)) {
	if s.Timeout < 0 || time.Duration(s.Timeout) > TimeoutMax {
		wrong("timeout %v: at most %v", s.Timeout, TimeoutMax)
	}
	if s.Concurrency < 0 || s.Concurrency > ConcurrencyMax {
		wrong("concurrency %d: at most %d", s.Concurrency, ConcurrencyMax)
	}
	if s.Queue < 0 || s.Queue > QueueMax {
		wrong("queue %d: at most %d", s.Queue, QueueMax)
	}
	if s.MemoryMax != 0 && s.MemoryMax < MemoryMin {
		wrong("memory_max %d: at least %d", s.MemoryMax, MemoryMin)
	}
	if len(s.Config) > ConfigMax {
		wrong("config of %d bytes: at most %d", len(s.Config), ConfigMax)
	}
}

// checkObject says whether the bytes are one JSON object.
func checkObject(b []byte) error {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if o == nil {
		return errors.New("null is no JSON object")
	}
	return nil
}

// asked is the name of the plugin that the binary, or the catalogue of built-ins,
// is asked for.
func (s *Spec) asked() string {
	switch {
	case s.Builtin != "":
		return s.Builtin
	case s.Plugin != "":
		return s.Plugin
	}
	return s.Name
}

// digest is the hash that the binary must have here; false: none is known.
func (s *Spec) digest() (sum [32]byte, ok bool) {
	b, err := hex.DecodeString(s.SHA256[Platform()])
	if err != nil || len(b) != len(sum) {
		return sum, false
	}
	copy(sum[:], b)
	return sum, true
}

// timeout is the deadline of a call.
func (s *Spec) timeout() time.Duration {
	if s.Timeout > 0 {
		return time.Duration(s.Timeout)
	}
	switch s.Kind {
	case plugin.Partitioner:
		return 50 * time.Millisecond
	case plugin.Authorizer:
		return 100 * time.Millisecond
	case plugin.Retention:
		return 5 * time.Second
	}
	return 2 * time.Second
}

// firstAnswer is the deadline of the canary: an entry with a longer one for its calls
// has it for the first as well, on a machine where a hash of a password takes seconds.
func (s *Spec) firstAnswer() time.Duration { return max(canaryMax, s.timeout()) }

// config is the JSON that the plugin gets.
func (s *Spec) config() json.RawMessage {
	if len(bytes.TrimSpace(s.Config)) == 0 {
		return json.RawMessage("{}")
	}
	return s.Config
}

func (s *Spec) concurrency() int {
	if s.Concurrency > 0 {
		return s.Concurrency
	}
	return 64
}

func (s *Spec) queue() int {
	if s.Queue > 0 {
		return s.Queue
	}
	return 256
}

// same says whether two entries need no new generation: what is only shown may
// differ, and how the config is laid out.
func (s *Spec) same(o *Spec) bool {
	a, b := *s, *o
	equal := slices.Equal(a.Args, b.Args) && maps.Equal(a.Env, b.Env) && maps.Equal(a.SHA256, b.SHA256) &&
		bytes.Equal(compact(s.config()), compact(o.config())) &&
		(a.RunAs == nil) == (b.RunAs == nil) && (a.RunAs == nil || *a.RunAs == *b.RunAs)
	for _, x := range []*Spec{&a, &b} {
		x.Args, x.Env, x.SHA256, x.Config, x.RunAs, x.Required = nil, nil, nil, nil, nil, false
	}
	return equal && reflect.DeepEqual(a, b)
}

// compact is the config without white space, if it is JSON.
func compact(config json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, config) != nil {
		return config
	}
	return b.Bytes()
}

// clone shares nothing that the owner of the entry may change.
func (s *Spec) clone() *Spec {
	c := *s
	c.Args = slices.Clone(s.Args)
	c.Env, c.SHA256 = maps.Clone(s.Env), maps.Clone(s.SHA256)
	c.Config = bytes.Clone(s.Config)
	if s.RunAs != nil {
		runAs := *s.RunAs
		c.RunAs = &runAs
	}
	return &c
}
