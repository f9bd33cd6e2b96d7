package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/mortisemq/mortise/core/config"
)

// delimiter joins the parts of a path. Kafka's keys have dots, never slashes.
const delimiter = "/"

// Source is where Load looks. The zero value means: defaults only.
type Source struct {
	File     string            // name for messages; empty: no file
	FileText []byte            // its content
	Environ  []string          // as os.Environ
	Flags    map[string]string // path → text, from flags that were given
}

// Load merges the layers and checks the whole. The error joins every problem,
// each naming its file and line, variable or flag, and its key.
func Load(src Source) (*Settings, error) {
	l := loader{koanf: koanf.New(delimiter), origins: map[string]string{}, places: map[string]place{}}
	l.defaults()
	l.file(src)
	l.environment(src.Environ)
	l.flags(src.Flags)
	s := l.settings()
	if len(l.problems) == 0 {
		s.check(l.problem)
	}
	if len(l.problems) > 0 {
		return nil, l.err()
	}
	return s, nil
}

// loader gathers layers; a later one outweighs an earlier one.
type loader struct {
	koanf    *koanf.Koanf
	origins  map[string]string // path → where its value came from
	places   map[string]place  // path → where it stands in the file, items of lists too
	problems []problem
}

// merge puts one layer of flat paths over what is there.
func (l *loader) merge(values map[string]any, origin func(path string) string) {
	for path := range values {
		l.origins[path] = origin(path)
	}
	// Loading a map of plain values can't fail.
	if err := l.koanf.Load(confmap.Provider(values, delimiter), nil); err != nil {
		panic("BUG: settings layer: " + err.Error())
	}
}

func (l *loader) defaults() {
	values := map[string]any{}
	for _, k := range Keys() {
		values[k.Path] = k.Default
	}
	l.merge(values, func(string) string { return "default" })
}

// known finds a key of the schema; Kafka's keys are known to core/config.
func known(path string) (Key, bool) {
	for _, k := range Keys() {
		if k.Path == path {
			return k, true
		}
	}
	return Key{}, false
}

// settings fills the struct from the merged values.
func (l *loader) settings() *Settings {
	s := &Settings{Defaults: map[string]string{}}
	for _, k := range Keys() {
		v := l.koanf.Get(k.Path)
		if err := k.set(s, v); err != nil {
			l.problem(k.Path, fmt.Errorf("%w (want %s)", err, k.Type))
		}
		s.values = append(s.values, Value{shown(k.Path), withoutSecrets(k.Path, v), l.origins[k.Path], v})
	}
	l.kafkaKeys(s)
	return s
}

// kafkaKeys takes what stands under defaults, each checked by itself, then all
// together.
func (l *loader) kafkaKeys(s *Settings) {
	before := len(l.problems)
	for _, path := range slices.Sorted(maps.Keys(l.origins)) {
		name, ok := strings.CutPrefix(path, defaultsPath+delimiter)
		if !ok {
			continue
		}
		value, err := scalar(l.koanf.Get(path))
		if err == nil {
			err = config.CheckBrokerKey(name, value)
		}
		if err != nil {
			l.problem(path, err)
			continue
		}
		s.Defaults[name] = value
		s.values = append(s.values, Value{shown(path), value, l.origins[path], value})
	}
	if len(l.problems) > before {
		return
	}
	for _, err := range config.CheckBrokerTogether(s.Defaults) {
		l.problem(mentioned(err, s.Defaults), err)
	}
}

// mentioned is the path of a key that is set and that err names: one of those that
// contradict each other is not a default.
func mentioned(err error, set map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if strings.Contains(err.Error(), name) {
			return defaultsPath + delimiter + name
		}
	}
	return defaultsPath
}

// scalar is Kafka's text form of a value in the file.
func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		if n := int64(v); float64(n) == v {
			return fmt.Sprint(n), nil
		}
		return fmt.Sprint(v), nil
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			part, err := scalar(item)
			if err != nil {
				return "", err
			}
			parts[i] = part
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("%s is not one value; write Kafka's key on one line, for example log.retention.ms: 3600000", quoted(v))
}

// shown is a path as people write it: dots between our own parts, and Kafka's
// key whole.
func shown(path string) string {
	if name, ok := strings.CutPrefix(path, defaultsPath+delimiter); ok {
		return defaultsPath + " " + strings.ReplaceAll(name, delimiter, ".")
	}
	return strings.ReplaceAll(path, delimiter, ".")
}
