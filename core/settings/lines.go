package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"
)

// yamlLines finds the line of every path in a YAML or JSON text.
func yamlLines(text []byte) (map[string]int, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	lines := map[string]int{}
	if len(doc.Content) > 0 {
		if kind := doc.Content[0].Kind; kind != yaml.MappingNode {
			return nil, &syntaxError{doc.Content[0].Line, "want keys and values"}
		}
		return lines, mappingLines(lines, "", doc.Content[0])
	}
	return lines, nil
}

// mappingLines notes the keys of one mapping and refuses a key that stands
// twice, which parsers of JSON let pass.
func mappingLines(lines map[string]int, path string, n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		child := strings.TrimPrefix(path+delimiter+key.Value, delimiter)
		if first, twice := lines[child]; twice {
			return &syntaxError{key.Line, fmt.Sprintf("%s stands on line %d already", shown(child), first)}
		}
		lines[child] = key.Line
		if err := valueLines(lines, child, value); err != nil {
			return err
		}
	}
	return nil
}

// valueLines notes what stands inside a value: keys by name, items by number.
func valueLines(lines map[string]int, path string, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return mappingLines(lines, path, n)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			child := itemPath(path, i)
			lines[child] = item.Line
			if err := valueLines(lines, child, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// itemPath is the path of an item of a list, counted from 0.
func itemPath(list string, item int) string { return list + delimiter + strconv.Itoa(item) }

// tomlLines finds the line of every path in a TOML text.
func tomlLines(text []byte) (map[string]int, error) {
	lines := map[string]int{}
	p := unstable.Parser{}
	p.Reset(text)
	table, items := "", map[string]int{}
	for p.NextExpression() {
		e := p.Expression()
		path, line := "", 0
		for keys := e.Key(); keys.Next(); {
			key := keys.Node()
			if line == 0 {
				line = lineAt(text, int64(key.Raw.Offset))
			}
			path = strings.TrimPrefix(path+delimiter+string(key.Data), delimiter)
		}
		switch e.Kind {
		case unstable.Table:
			table = path
			lines[path] = line
		case unstable.ArrayTable:
			table = itemPath(path, items[path])
			items[path]++
			lines[table] = line
			if lines[path] == 0 {
				lines[path] = line
			}
		case unstable.KeyValue:
			path = strings.TrimPrefix(table+delimiter+path, delimiter)
			if first, twice := lines[path]; twice {
				return nil, &syntaxError{line, fmt.Sprintf("%s stands on line %d already", shown(path), first)}
			}
			lines[path] = line
		}
	}
	return lines, tomlError(&p, text)
}

// tomlError gives the parser's error the line that it happened on.
func tomlError(p *unstable.Parser, text []byte) error {
	err := p.Error()
	var parse *unstable.ParserError
	if !errors.As(err, &parse) || parse.Highlight == nil {
		return err
	}
	return &syntaxError{lineAt(text, int64(p.Range(parse.Highlight).Offset)), parse.Message}
}

// syntaxError says that the text of a file can't be read, and where.
type syntaxError struct {
	line    int
	problem string
}

// Error implements error.
func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.problem) }

// lineAt is the line, from 1, of a place in a text.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}

// yamlProblem is how the parser of YAML says where something is wrong.
var yamlProblem = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)

// located finds the line in an error of any of the parsers.
func located(err error, text []byte) error {
	var inJSON *json.SyntaxError
	var inTOML *toml.DecodeError
	switch {
	case errors.As(err, &inJSON):
		return &syntaxError{lineAt(text, inJSON.Offset), err.Error()}
	case errors.As(err, &inTOML):
		line, _ := inTOML.Position()
		return &syntaxError{line, err.Error()}
	}
	if m := yamlProblem.FindStringSubmatch(err.Error()); m != nil {
		if line, bad := strconv.Atoi(m[1]); bad == nil {
			return &syntaxError{line, m[2]}
		}
	}
	return err
}
