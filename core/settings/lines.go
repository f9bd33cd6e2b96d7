package settings

import (
	"bytes"
	"fmt"
	"strings"

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
			return nil, fmt.Errorf("line %d: want keys and values", doc.Content[0].Line)
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
			return fmt.Errorf("line %d: %s stands on line %d already", key.Line, shown(child), first)
		}
		lines[child] = key.Line
		if value.Kind == yaml.MappingNode {
			if err := mappingLines(lines, child, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// tomlLines finds the line of every path in a TOML text.
func tomlLines(text []byte) (map[string]int, error) {
	lines := map[string]int{}
	p := unstable.Parser{}
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		path, line := "", 0
		for keys := e.Key(); keys.Next(); {
			key := keys.Node()
			if line == 0 {
				line = 1 + bytes.Count(text[:key.Raw.Offset], []byte("\n"))
			}
			path = strings.TrimPrefix(path+delimiter+string(key.Data), delimiter)
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = path
			lines[path] = line
		case unstable.KeyValue:
			lines[strings.TrimPrefix(table+delimiter+path, delimiter)] = line
		}
	}
	return lines, p.Error()
}
