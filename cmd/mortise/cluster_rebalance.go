package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// electionsMax bounds the partitions of one request.
const electionsMax = 5000

// rebalanceResult is which leaders change, or have changed.
type rebalanceResult struct {
	Done    bool           `json:"done"` // false: a dry run
	Leaders []leaderChange `json:"leaders"`
}

// leaderChange is one partition whose leader is not the replica that it prefers.
type leaderChange struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int32  `json:"from"` // -1: nobody leads
	To        int32  `json:"to"`
	Error     string `json:"error,omitempty"` // why it can't be
}

func clusterRebalanceCommand(a *app) *cobra.Command {
	var (
		topics []string
		dryRun bool
	)
	c := &cobra.Command{
		Use:   "rebalance",
		Short: "Let the first replica of each partition lead it, so that work is spread evenly",
		Long: `Let the first replica of each partition lead it: that is how leaders are spread
evenly over nodes. After a restart of a node others lead what it led, until this command
or, after some minutes, the cluster itself (auto.leader.rebalance.enable) changes that.
Nothing is copied; clients notice within milliseconds.

To spread replicas over nodes that are new: mortise cluster reassign.`,
		Example: `  mortise cluster rebalance --dry-run
  mortise cluster rebalance
  mortise cluster rebalance --topic orders`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withAdmin(func(admin *kadm.Client) error {
				r, err := rebalance(c.Context(), admin, topics, dryRun)
				if err != nil {
					return err
				}
				return r.print(a)
			})
		},
	}
	c.Flags().StringSliceVarP(&topics, "topic", "t", nil, "only these topics")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print what would change and change nothing")
	a.addBrokers(c)
	return c
}

// rebalance finds the partitions that another than the first replica leads, and has the
// cluster change that.
func rebalance(ctx context.Context, admin *kadm.Client, names []string, dryRun bool) (*rebalanceResult, error) {
	topics, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, err
	}
	if _, missing := known(topics); missing != nil {
		return nil, missing
	}
	r := &rebalanceResult{Done: !dryRun, Leaders: misplaced(topics)}
	if dryRun {
		return r, nil
	}
	for some := range slices.Chunk(r.Leaders, electionsMax) {
		wanted := kadm.TopicsSet{}
		for i := range some {
			if some[i].Error == "" {
				wanted.Add(some[i].Topic, some[i].Partition)
			}
		}
		if len(wanted) == 0 {
			continue // an empty set would mean all
		}
		elected, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, wanted)
		if err != nil {
			return nil, err
		}
		for i := range some {
			e, ok := elected[some[i].Topic][some[i].Partition]
			if ok && e.Err != nil && !errors.Is(e.Err, kerr.ElectionNotNeeded) { // somebody else was faster
				some[i].Error = kerrName(e.Err)
			}
		}
	}
	return r, nil
}

// misplaced are the partitions that their first replica does not lead.
func misplaced(topics kadm.TopicDetails) []leaderChange {
	all := []leaderChange{}
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			if len(p.Replicas) == 0 || p.Leader == p.Replicas[0] {
				continue
			}
			c := leaderChange{Topic: p.Topic, Partition: p.Partition, From: p.Leader, To: p.Replicas[0]}
			if !slices.Contains(p.ISR, c.To) {
				c.Error = "not in sync"
			}
			all = append(all, c)
		}
	}
	return all
}

// print prints a line about the whole, and what could not be.
func (r *rebalanceResult) print(a *app) error {
	failed := 0
	var rows [][]string
	for _, c := range r.Leaders {
		if c.Error != "" {
			failed++
		}
		if c.Error != "" || !r.Done {
			rows = append(rows, []string{c.Topic, fmt.Sprint(c.Partition), fmt.Sprint(c.From), fmt.Sprint(c.To), c.Error})
		}
	}
	err := a.printer().Value(r, func(w writer) error {
		verb := "changed"
		if !r.Done {
			verb = "would change"
		}
		fmt.Fprintf(w, "leaders of %s %s\n", counted(len(r.Leaders)-failed, "partition"), verb)
		if len(rows) == 0 {
			return nil
		}
		return output.Table(w, []string{"TOPIC", "PARTITION", "FROM", "TO", ""}, rows)
	})
	if err == nil && failed > 0 && r.Done {
		err = fmt.Errorf("%s can't be led by their first replica yet", counted(failed, "partition"))
	}
	return err
}
