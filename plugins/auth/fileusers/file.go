package fileusers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mortisemq/mortise/sdk/auth"
)

// Bounds of a file.
const (
	maxFileBytes = 64 << 20
	maxUsers     = 100_000
)

// fileUser is a user as people write it.
type fileUser struct {
	Password    string   `yaml:"password,omitempty"`
	ScramSHA256 string   `yaml:"scram-sha-256,omitempty"`
	ScramSHA512 string   `yaml:"scram-sha-512,omitempty"`
	Groups      []string `yaml:"groups,omitempty,flow"`
}

// user is one who can authenticate.
type user struct {
	password passwordHash // nil: not by PLAIN
	scram    map[string]auth.ScramCredential
	groups   []string // sorted
}

// users are those of one content of the file. They never change.
type users struct {
	byName map[string]*user
	hashes []passwordHash // dummies like those in the file; at least one
}

// parseFile reads a file of users.
func parseFile(content []byte) (*users, error) {
	var file struct {
		Users map[string]yaml.Node `yaml:"users"`
	}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the users")
	}
	if len(file.Users) > maxUsers {
		return nil, fmt.Errorf("%d users, want at most %d", len(file.Users), maxUsers)
	}
	all := &users{byName: make(map[string]*user, len(file.Users))}
	for name, node := range file.Users {
		u, err := readUser(name, &node)
		if err != nil {
			return nil, fmt.Errorf("line %d: user %q: %w", node.Line, name, err)
		}
		all.byName[name] = u
		if u.password != nil {
			all.hashes = append(all.hashes, u.password.dummy())
		}
	}
	return all, nil
}

func readUser(name string, node *yaml.Node) (*user, error) {
	f, err := decodeUser(node)
	if err != nil {
		return nil, err
	}
	u := &user{scram: map[string]auth.ScramCredential{}, groups: slices.Sorted(slices.Values(f.Groups))}
	if err := checkNames(name, u.groups); err != nil {
		return nil, err
	}
	if f.Password != "" {
		if u.password, err = parseHash(f.Password); err != nil {
			return nil, fmt.Errorf("password: %w", err)
		}
	}
	for mechanism, text := range map[string]string{"SCRAM-SHA-256": f.ScramSHA256, "SCRAM-SHA-512": f.ScramSHA512} {
		if text == "" {
			continue
		}
		if u.scram[mechanism], err = parseScram(mechanism, text); err != nil {
			return nil, fmt.Errorf("%s: %w", mechanism, err)
		}
	}
	if u.password == nil && len(u.scram) == 0 {
		return nil, errors.New("neither a password nor a SCRAM credential")
	}
	return u, nil
}

// decodeUser refuses fields that are not known: a node alone would not.
func decodeUser(node *yaml.Node) (f fileUser, err error) {
	known := []string{"password", "scram-sha-256", "scram-sha-512", "groups"}
	for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
		if key := node.Content[i]; !slices.Contains(known, key.Value) {
			return f, fmt.Errorf("%q in line %d is none of %v", key.Value, key.Line, known)
		}
	}
	return f, node.Decode(&f)
}

// checkNames holds names to what a broker believes.
func checkNames(name string, groups []string) error {
	if name == "" || name == auth.Wildcard || len(name) > auth.MaxNameBytes || !utf8.ValidString(name) {
		return fmt.Errorf("a name of 1 to %d bytes of UTF-8, not %s", auth.MaxNameBytes, auth.Wildcard)
	}
	if len(groups) > auth.MaxGroups {
		return fmt.Errorf("%d groups, want at most %d", len(groups), auth.MaxGroups)
	}
	for _, g := range groups {
		if g == "" || g == auth.Wildcard || len(g) > auth.MaxGroupBytes || !utf8.ValidString(g) {
			return fmt.Errorf("group %.64q, want 1 to %d bytes of UTF-8, not %s", g, auth.MaxGroupBytes, auth.Wildcard)
		}
	}
	return nil
}
