package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

func topicCommand(a *app) *cobra.Command {
	c := group("topic", "Create, list, describe, alter and delete topics",
		topicCreateCommand(a), topicListCommand(a), topicDescribeCommand(a), topicAlterCommand(a), topicDeleteCommand(a))
	for _, sub := range c.Commands() {
		a.addBrokers(sub)
	}
	return c
}

func topicCreateCommand(a *app) *cobra.Command {
	var (
		partitions  int32
		replication int16
		configs     []string
		ifNotExists bool
	)
	c := &cobra.Command{
		Use:   "create NAME…",
		Short: "Create topics",
		Example: `  mortise topic create orders --partitions 12
  mortise topic create audit --config retention.ms=-1 --config min.insync.replicas=2`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			values, err := keyValues(configs)
			if err != nil {
				return err
			}
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			created, err := admin.CreateTopics(c.Context(), partitions, replication, values, names...)
			if err != nil {
				return err
			}
			results := newResults("created")
			for _, r := range created.Sorted() {
				if ifNotExists && errors.Is(r.Err, kerr.TopicAlreadyExists) {
					results.rows = append(results.rows, resultRow{Name: r.Topic, Result: "exists already"})
					continue
				}
				results.add(r.Topic, r.Err, r.ErrMessage)
			}
			return results.print(a)
		},
	}
	c.Flags().Int32VarP(&partitions, "partitions", "p", -1, "number of partitions; -1: the cluster's num.partitions")
	c.Flags().Int16VarP(&replication, "replication-factor", "r", -1, "copies of each partition; -1: the cluster's default")
	c.Flags().StringArrayVarP(&configs, "config", "c", nil, "a topic config, KEY=VALUE; may be given again")
	c.Flags().BoolVar(&ifNotExists, "if-not-exists", false, "a topic that exists already is no error")
	return c
}

func topicDeleteCommand(a *app) *cobra.Command {
	var ifExists bool
	c := &cobra.Command{
		Use:     "delete NAME…",
		Short:   "Delete topics and all of their records",
		Example: `  mortise topic delete orders`,
		Args:    cobra.MinimumNArgs(1),

		ValidArgsFunction: a.completeTopics(anyNumber, false),
		RunE: func(c *cobra.Command, names []string) error {
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			deleted, err := admin.DeleteTopics(c.Context(), names...)
			if err != nil {
				return err
			}
			results := newResults("deleted from " + strings.Join(a.brokers, ","))
			for _, r := range deleted.Sorted() {
				if ifExists && errors.Is(r.Err, kerr.UnknownTopicOrPartition) {
					results.rows = append(results.rows, resultRow{Name: r.Topic, Result: "does not exist"})
					continue
				}
				results.add(r.Topic, r.Err, r.ErrMessage)
			}
			return results.print(a)
		},
	}
	c.Flags().BoolVar(&ifExists, "if-exists", false, "a topic that does not exist is no error")
	return c
}

// results gathers what became of several things that were asked for.
type results struct {
	verb   string
	rows   []resultRow
	failed int
}

// resultRow has a result or an error.
type resultRow struct {
	Name   string `json:"name"`
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func newResults(verb string) *results { return &results{verb: verb} }

// add notes one result; message, if any, is what the broker said beside err.
func (r *results) add(name string, err error, message string) {
	row := resultRow{Name: name, Result: r.verb}
	if err != nil {
		r.failed++
		row.Result = ""
		row.Error = err.Error()
		if message != "" {
			row.Error = kerrName(err) + ": " + message
		}
	}
	r.rows = append(r.rows, row)
}

// print prints every result by name and fails if one has failed.
func (r *results) print(a *app) error {
	slices.SortStableFunc(r.rows, func(a, b resultRow) int { return cmp.Compare(a.Name, b.Name) })
	err := a.printer().Value(r.rows, func(w writer) error {
		for _, row := range r.rows {
			fmt.Fprintf(w, "%s: %s\n", row.Name, cmp.Or(row.Error, row.Result))
		}
		return nil
	})
	if err == nil && r.failed > 0 {
		err = fmt.Errorf("%d of %d failed", r.failed, len(r.rows))
	}
	return err
}

// kerrName is Kafka's name of an error, without its long description.
func kerrName(err error) string {
	var e *kerr.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// keyValues reads KEY=VALUE pairs.
func keyValues(pairs []string) (map[string]*string, error) {
	values := map[string]*string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, output.Usagef("%q is not KEY=VALUE", pair)
		}
		values[key] = &value
	}
	return values, nil
}
