package fileusers

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// ErrExists says that a file has a user already.
var ErrExists = errors.New("the user is in the file already")

// Put is a file with one user more, whose entry is as NewEntry makes it. Comments and
// other users stay as they are. replace lets it take the place of a user with the same
// name, without it that is ErrExists. The content is checked before and after: an
// authenticator takes the result.
func Put(content []byte, name, password string, e Entry, replace bool) ([]byte, error) {
	if _, err := parseFile(content); err != nil {
		return nil, err
	}
	text, err := NewEntry(name, password, e)
	if err != nil {
		return nil, err
	}
	var file, entry yaml.Node
	if err := yaml.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal([]byte(text), &entry); err != nil {
		return nil, err
	}
	if err := putUser(usersOf(&file), entry.Content[0].Content, replace); err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&file), encoder.Close()); err != nil {
		return nil, err
	}
	_, err = parseFile(out.Bytes())
	return out.Bytes(), err
}

// usersOf is the mapping of users in a file that parseFile takes; it is made if it is
// missing.
func usersOf(file *yaml.Node) *yaml.Node {
	if file.Kind == 0 {
		*file = yaml.Node{Kind: yaml.DocumentNode}
	}
	if len(file.Content) == 0 || file.Content[0].Kind != yaml.MappingNode {
		file.Content = []*yaml.Node{{Kind: yaml.MappingNode}}
	}
	top := file.Content[0]
	if len(top.Content) == 0 {
		top.Style = 0
		top.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Value: "users"}, {Kind: yaml.MappingNode}}
	}
	users := top.Content[1]
	if users.Kind != yaml.MappingNode { // null: nobody is there
		*users = yaml.Node{Kind: yaml.MappingNode}
	}
	users.Style = 0 // one user a line, not {alice: …}
	return users
}

// putUser adds a name and what stands under it.
func putUser(users *yaml.Node, entry []*yaml.Node, replace bool) error {
	for i := 0; i+1 < len(users.Content); i += 2 {
		if users.Content[i].Value != entry[0].Value {
			continue
		}
		if !replace {
			return ErrExists
		}
		users.Content[i+1] = entry[1]
		return nil
	}
	users.Content = append(users.Content, entry...)
	return nil
}
