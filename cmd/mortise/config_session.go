package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// configChange is one key to set, or to unset when value is nil.
type configChange struct {
	key   string
	value *string
}

func compareChanges(a, b configChange) int { return cmp.Compare(a.key, b.key) }

// configSession changes configs of one resource.
type configSession struct {
	client   *kgo.Client
	resource configResource
	changes  []configChange
}

// configResult is what a change of configs does or has done.
type configResult struct {
	Resource string            `json:"resource"`
	Name     string            `json:"name"`
	Done     bool              `json:"done"` // false: a dry run
	Changes  []configChangeRow `json:"changes"`
}

// configChangeRow is one key before and after. A null value is none of its own, or a
// secret.
type configChangeRow struct {
	Key     string  `json:"key"`
	Old     *string `json:"old"`
	New     *string `json:"new"`
	Restart bool    `json:"restart"` // the new value counts after a restart

	secret bool
}

// run checks the changes, makes them unless dryRun, and tells what is different.
func (s *configSession) run(ctx context.Context, dryRun bool) (*configResult, error) {
	before, err := s.describe(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.alter(ctx, true); err != nil {
		return nil, err
	}
	after := map[string]kmsg.DescribeConfigsResponseResourceConfig{}
	if !dryRun {
		if err := s.alter(ctx, false); err != nil {
			return nil, err
		}
		if after, err = s.describe(ctx); err != nil {
			return nil, err
		}
	}
	r := &configResult{Resource: s.resource.kind, Name: s.resource.name, Done: !dryRun}
	for _, c := range s.changes {
		was := before[c.key]
		row := configChangeRow{Key: c.key, Old: was.Value, New: c.value, Restart: s.resource.waitsForRestart(c.key)}
		// A broker that has not followed yet still tells of the value that is gone.
		switch is, known := after[c.key]; {
		case c.value != nil:
		case known && is.Source != s.ownSource():
			row.New = is.Value
		default:
			row.New = s.beneath(&was)
		}
		// A name that nobody knows is described, as a secret, once it is set.
		if was.IsSensitive || after[c.key].IsSensitive {
			row.Old, row.New, row.secret = nil, nil, true
		}
		r.Changes = append(r.Changes, row)
	}
	return r, nil
}

// ownSource is where a value that the resource has of its own comes from.
func (s *configSession) ownSource() kmsg.ConfigSource {
	return map[string]kmsg.ConfigSource{"topic": kmsg.ConfigSourceDynamicTopicConfig, "broker": kmsg.ConfigSourceDynamicBrokerConfig,
		"cluster": kmsg.ConfigSourceDynamicDefaultBrokerConfig, "group": kmsg.ConfigSourceGroupConfig}[s.resource.kind]
}

// beneath is what counts once the own value of a key is gone: the first of its synonyms
// that comes from elsewhere.
func (s *configSession) beneath(c *kmsg.DescribeConfigsResponseResourceConfig) *string {
	own := s.ownSource()
	for _, synonym := range c.ConfigSynonyms {
		if synonym.Source != own {
			return synonym.Value
		}
	}
	if c.Source != own {
		return c.Value
	}
	return nil
}

// describe asks for the values of the keys. Keys that the cluster does not describe,
// since nobody has set them, are missing.
func (s *configSession) describe(ctx context.Context) (map[string]kmsg.DescribeConfigsResponseResourceConfig, error) {
	q := kmsg.NewPtrDescribeConfigsRequest()
	q.IncludeSynonyms = true
	one := kmsg.NewDescribeConfigsRequestResource()
	one.ResourceType, one.ResourceName = s.resource.code, s.resource.name
	for _, c := range s.changes {
		one.ConfigNames = append(one.ConfigNames, c.key)
	}
	q.Resources = append(q.Resources, one)
	resp, err := q.RequestWith(ctx, s.client)
	if err != nil {
		return nil, s.unanswered(err)
	}
	values := map[string]kmsg.DescribeConfigsResponseResourceConfig{}
	for _, r := range resp.Resources {
		if err := s.refused(r.ErrorCode, r.ErrorMessage); err != nil {
			return nil, err
		}
		for _, c := range r.Configs {
			values[c.Name] = c
		}
	}
	return values, nil
}

// alter makes the changes, or only has them checked.
func (s *configSession) alter(ctx context.Context, checkOnly bool) error {
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	q.ValidateOnly = checkOnly
	one := kmsg.NewIncrementalAlterConfigsRequestResource()
	one.ResourceType, one.ResourceName = s.resource.code, s.resource.name
	for _, c := range s.changes {
		k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		k.Name, k.Value, k.Op = c.key, c.value, kmsg.IncrementalAlterConfigOpSet
		if c.value == nil {
			k.Op = kmsg.IncrementalAlterConfigOpDelete
		}
		one.Configs = append(one.Configs, k)
	}
	q.Resources = append(q.Resources, one)
	resp, err := q.RequestWith(ctx, s.client)
	if err != nil {
		return s.unanswered(err)
	}
	var errs []error
	for _, r := range resp.Resources {
		errs = append(errs, s.refused(r.ErrorCode, r.ErrorMessage))
	}
	return errors.Join(errs...)
}

// unanswered is the error of a request without an answer. About its own configs a broker
// is asked itself.
func (s *configSession) unanswered(err error) error {
	if s.resource.kind != "broker" || s.resource.name == "" {
		return err
	}
	return fmt.Errorf("%s: %w; it must live to be asked: mortise cluster status shows who does", s.resource, err)
}

// refused is the error that a cluster answered.
func (s *configSession) refused(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	switch {
	case err == nil:
		return nil
	case message == nil || *message == "":
		return fmt.Errorf("%s: nothing was changed: %w", s.resource, err)
	}
	return fmt.Errorf("%s: nothing was changed: %s: %s", s.resource, kerrName(err), strings.TrimSuffix(*message, "."))
}

// print shows the keys before and after.
func (r *configResult) print(a *app) error {
	return a.printer().Value(r, func(w writer) error {
		var rows [][]string
		for _, c := range r.Changes {
			effect := "live"
			if c.Restart {
				effect = "after a restart"
			}
			rows = append(rows, []string{c.Key, valueText(c.Old, "-"), valueText(c.New, c.none()), effect})
		}
		if err := output.Table(w, []string{"KEY", "OLD", "NEW", "COUNTS"}, rows); err != nil {
			return err
		}
		if !r.Done {
			fmt.Fprintln(w, "this was checked and nothing was changed: a dry run")
		}
		return nil
	})
}

// none says what a new value of null means: what counts once the own value is gone is
// not told by a cluster beforehand, where it comes from a key in another unit.
func (c *configChangeRow) none() string {
	if c.secret {
		return "-"
	}
	return "default"
}

// valueText is a value for people; none stands for null.
func valueText(v *string, none string) string {
	switch {
	case v == nil:
		return none
	case *v == "" || slices.ContainsFunc([]rune(*v), func(c rune) bool { return c == ' ' || c == '\t' || !strconv.IsPrint(c) }):
		return strconv.Quote(*v)
	}
	return *v
}
