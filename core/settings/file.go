package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/json"
	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/v2"
)

// fileBytesMax bounds a settings file: far more than anybody writes, far less
// than memory.
const fileBytesMax = 1 << 20

// file adds the values of the file, each with the line that it stands on.
func (l *loader) file(src Source) {
	if src.File == "" {
		return
	}
	name := filepath.Base(src.File)
	parser, lines, err := parserFor(name, src.FileText)
	if err != nil {
		l.unreadable(src, err)
		return
	}
	tree, err := parser.Unmarshal(src.FileText)
	if err != nil {
		l.unreadable(src, err)
		return
	}
	for path, line := range lines {
		l.places[path] = place{src.File, line}
	}
	values := map[string]any{}
	l.walk(values, "", tree, func(path string) string {
		if p, ok := l.places[path]; ok {
			return p.String()
		}
		return src.File
	})
	l.merge(values, func(path string) string { return l.origins[path] })
}

// unreadable notes that the file's text is not what its name promises.
func (l *loader) unreadable(src Source, err error) {
	at := place{file: src.File}
	if syntax := (*syntaxError)(nil); errors.As(located(err, src.FileText), &syntax) {
		at.line, err = syntax.line, errors.New(syntax.problem)
	}
	l.problems = append(l.problems, problem{at, err})
}

// parserFor chooses by the file's ending, and finds the line of each path.
func parserFor(name string, text []byte) (koanf.Parser, map[string]int, error) {
	if len(text) > fileBytesMax {
		return nil, nil, fmt.Errorf("%d bytes are more than the %d that a settings file may have", len(text), fileBytesMax)
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		lines, err := yamlLines(text)
		return yaml.Parser(), lines, err
	case ".json": // JSON is YAML too, as far as lines go
		lines, err := yamlLines(text)
		return json.Parser(), lines, err
	case ".toml":
		lines, err := tomlLines(text)
		return toml.Parser(), lines, err
	}
	return nil, nil, errors.New("the name must end in .yaml, .yml, .json or .toml")
}

// walk turns the parsed tree into flat paths and refuses what the schema lacks.
func (l *loader) walk(values map[string]any, path string, tree map[string]any, origin func(string) string) {
	for _, name := range sortedKeys(tree) {
		child := strings.TrimPrefix(path+delimiter+name, delimiter)
		l.origins[child] = origin(child)
		value := tree[name]
		_, leaf := known(child)
		sub, isMap := value.(map[string]any)
		switch {
		case leaf:
			values[child] = value
		case path == defaultsPath && isMap && !kafkaKnows(name):
			delete(l.origins, child)
			l.nested(child, sub)
		case path == defaultsPath:
			l.kafkaKey(values, child, value)
		case isMap && isSection(child):
			delete(l.origins, child)
			l.walk(values, child, sub, origin)
		case isSection(child):
			if value != nil { // an empty section is as good as none
				l.problem(child, fmt.Errorf("%s is not a section of keys", quoted(value)))
			}
			delete(l.origins, child)
		default:
			l.problem(child, unknown(child))
			delete(l.origins, child)
		}
	}
}

// nested refuses a Kafka key that was written in parts, as TOML reads one without
// quotes.
func (l *loader) nested(path string, value any) {
	for {
		m, ok := value.(map[string]any)
		if !ok || len(m) == 0 {
			break
		}
		name := sortedKeys(m)[0]
		path, value = path+delimiter+name, m[name]
	}
	l.origins[path] = l.places[path].String()
	l.problem(path, fmt.Errorf("unknown key; write Kafka's key whole and in quotes: %q",
		strings.ReplaceAll(strings.TrimPrefix(path, defaultsPath+delimiter), delimiter, ".")))
	delete(l.origins, path)
}

// isSection reports whether keys of the schema start with the path.
func isSection(path string) bool {
	return path == defaultsPath || slices.ContainsFunc(Keys(), func(k Key) bool {
		return strings.HasPrefix(k.Path, path+delimiter)
	})
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
