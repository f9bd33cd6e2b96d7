package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mortisemq/mortise/sdk/auth"
)

// Bounds of a file.
const (
	maxFileBytes = 1 << 20
	maxRules     = 10_000 // for one resource, principal, operation and host each
)

// principalVariable stands for the name of whoever asks.
const principalVariable = "${principal}"

// list is a value or a list of values.
type list []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *list) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		var one string
		if err := n.Decode(&one); err != nil {
			return err
		}
		*l = list{one}
		return nil
	}
	var many []string
	if err := n.Decode(&many); err != nil {
		return err
	}
	*l = many
	return nil
}

// fileRule is a rule as people write it.
type fileRule struct {
	Allow           list `yaml:"allow"`
	Deny            list `yaml:"deny"`
	To              list `yaml:"to"`
	Host            list `yaml:"host"`
	Topic           list `yaml:"topic"`
	Group           list `yaml:"group"`
	TransactionalID list `yaml:"transactional-id"`
	DelegationToken list `yaml:"delegation-token"`
	User            list `yaml:"user"`
	Cluster         bool `yaml:"cluster"`
}

// parseFile reads a file of rules.
func parseFile(content []byte) (*policy, error) {
	var file struct {
		Rules []fileRule `yaml:"rules"`
	}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the rules")
	}
	return newPolicy(file.Rules)
}

// expand makes rules of one as people write it: one for each resource, principal,
// operation and host.
func (f fileRule) expand() ([]auth.Rule, error) {
	permission, principals := auth.PermissionAllow, f.Allow
	if len(f.Deny) > 0 {
		permission, principals = auth.PermissionDeny, f.Deny
	}
	operations, err := parseOperations(f.To)
	hosts := f.Host
	if len(hosts) == 0 {
		hosts = list{auth.Wildcard}
	}
	rules := f.resources()
	switch {
	case (len(f.Allow) > 0) == (len(f.Deny) > 0):
		return nil, errors.New("want either allow or deny, with principals")
	case len(f.To) == 0:
		return nil, errors.New("to names no operation")
	case err != nil:
		return nil, err
	case len(rules) == 0:
		return nil, errors.New("no resource is named")
	}
	rules = times(rules, principals, func(r *auth.Rule, name string) { r.Principal = name })
	rules = times(rules, operations, func(r *auth.Rule, op auth.Operation) { r.Operation = op })
	rules = times(rules, hosts, func(r *auth.Rule, host string) { r.Host = host })
	if rules == nil {
		return nil, fmt.Errorf("more than %d rules", maxRules)
	}
	for i := range rules {
		rules[i].Permission = permission
		if err := errors.Join(rules[i].Check(), checkName(rules[i])); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// times makes one rule for each value of each; nil: they would be too many.
func times[T any](rules []auth.Rule, values []T, set func(*auth.Rule, T)) []auth.Rule {
	if len(rules) == 0 || len(values) > maxRules/len(rules) {
		return nil
	}
	all := make([]auth.Rule, 0, len(rules)*len(values))
	for _, r := range rules {
		for _, v := range values {
			set(&r, v)
			all = append(all, r)
		}
	}
	return all
}

func parseOperations(names list) ([]auth.Operation, error) {
	var all []auth.Operation
	for _, name := range names {
		op, err := auth.ParseOperation(name)
		if err != nil {
			return nil, err
		}
		all = append(all, op)
	}
	return all, nil
}

// resources are the names of a rule, with nothing said about them yet.
func (f fileRule) resources() []auth.Rule {
	var all []auth.Rule
	add := func(t auth.ResourceType, names list) {
		for _, name := range names {
			r := auth.Rule{Resource: t, Name: name, Pattern: auth.Literal}
			if prefix, ok := strings.CutSuffix(name, auth.Wildcard); ok && prefix != "" {
				r.Name, r.Pattern = prefix, auth.Prefixed
			}
			all = append(all, r)
		}
	}
	add(auth.Topic, f.Topic)
	add(auth.Group, f.Group)
	add(auth.TransactionalID, f.TransactionalID)
	add(auth.DelegationToken, f.DelegationToken)
	add(auth.User, f.User)
	if f.Cluster {
		add(auth.Cluster, list{auth.ClusterName})
	}
	return all
}

// checkName refuses a name that can't mean what it seems to.
func checkName(r auth.Rule) error {
	rest := strings.Replace(r.Name, principalVariable, "", 1)
	switch {
	case strings.Contains(rest, "${"):
		return fmt.Errorf("name %q: only one %s is known", r.Name, principalVariable)
	case strings.Contains(rest, auth.Wildcard) && r.Name != auth.Wildcard:
		return fmt.Errorf("name %q: a star stands at the end", r.Name)
	case r.Pattern == auth.Prefixed && strings.HasSuffix(r.Name, principalVariable):
		return fmt.Errorf("name %q*: something must stand between %s and the star, or a name would reach all that begin with it", r.Name, principalVariable)
	}
	return nil
}
