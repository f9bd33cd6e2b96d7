package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
)

// Bounds of draining.
const (
	drainLookEvery = 500 * time.Millisecond
	drainShown     = 20 // partitions that a person is shown
)

// drainResult is what became of draining a node.
type drainResult struct {
	Node    int32 `json:"node"`
	Done    bool  `json:"done"` // it may be stopped
	Leaders int   `json:"leaders"`
	// LastReplicas are partitions that would be gone while the node is stopped, and
	// NotInSync those that would not take acks=all.
	LastReplicas []heldPartition `json:"last_replicas"`
	NotInSync    []heldPartition `json:"not_in_sync"`

	givable int // of Leaders: others hold them too
}

// drainFlags say how to drain a node.
type drainFlags struct {
	timeout      time.Duration
	allowOffline bool
	dryRun       bool
}

func clusterDrainCommand(a *app) *cobra.Command {
	var f drainFlags
	c := a.aboutNode(&cobra.Command{
		Use:   "drain NODE",
		Short: "Make a node ready to be stopped, without a gap for clients",
		Long: `Make a node ready to be stopped: wait until all that it holds is in sync elsewhere,
let others lead what it leads, and end when it leads nothing. It then gets nothing new
until it starts again, or mortise cluster undrain. It is refused, with the list, when a
partition would lose its last replica; --allow-offline accepts that for partitions with
one replica.

A rolling restart is, for each node in turn: drain it, stop it, start it, and wait until
mortise health is well. A node that is stopped by SIGTERM gives its leaders up by itself;
drain is for being sure before.

It asks an admin listener, and needs its token as changes of plugins do.`,
		Example: `  mortise cluster drain 1 --allow-offline --dry-run
  mortise cluster drain 1 --allow-offline --timeout 10m --dry-run`,
	}, func(ctx context.Context, id int32) error {
		return a.withAdmin(func(admin *kadm.Client) error { return f.run(a, ctx, admin, id) })
	})
	c.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "give up after this time; nothing is undone")
	c.Flags().BoolVar(&f.allowOffline, "allow-offline", false, "partitions with one replica may be gone while the node is stopped")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only look whether it would be refused")
	a.addAdmin(c)
	return c
}

// run drains a node and prints what came of it.
func (f *drainFlags) run(a *app, ctx context.Context, admin *kadm.Client, id int32) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("not done after --timeout %s", f.timeout))
	defer cancel()
	r := &drainResult{Node: id, LastReplicas: []heldPartition{}, NotInSync: []heldPartition{}}
	err := f.ready(a, ctx, admin, r)
	if err == nil && !f.dryRun {
		err = f.drain(a, ctx, admin, r)
	}
	return errors.Join(r.print(a, f, err), err)
}

// ready waits until the node can be missed, and says so to who waits.
func (f *drainFlags) ready(a *app, ctx context.Context, admin *kadm.Client, r *drainResult) error {
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(brokers, func(b kadm.BrokerDetail) bool { return b.NodeID == r.Node }) {
		return fmt.Errorf("node %d does not live; mortise cluster status shows who does", r.Node)
	}
	look := time.NewTicker(drainLookEvery)
	defer look.Stop()
	for told := false; ; told = true {
		if err := r.look(ctx, admin); err != nil {
			return err
		}
		switch {
		case len(r.LastReplicas) > 0 && !f.allowOffline:
			return fmt.Errorf("%s would lose the last replica: mortise cluster reassign --factor 2 --execute makes more, --allow-offline lets them be gone", counted(len(r.LastReplicas), "partition"))
		case len(r.NotInSync) == 0:
			return nil
		case f.dryRun:
			return fmt.Errorf("not in sync elsewhere yet: %s", counted(len(r.NotInSync), "partition"))
		case !told:
			fmt.Fprintf(a.err, "waiting for at most %s; not in sync elsewhere yet: %s, %s first\n",
				f.timeout, counted(len(r.NotInSync), "partition"), r.NotInSync[0].name())
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("not in sync elsewhere yet: %s: %w", counted(len(r.NotInSync), "partition"), context.Cause(ctx))
		}
	}
}

// look sorts what the node holds by what would become of it.
func (r *drainResult) look(ctx context.Context, admin *kadm.Client) error {
	topics, err := admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	held := heldBy(topics, r.Node)
	minimum, err := minimumISR(ctx, admin, held)
	if err != nil {
		return err
	}
	r.sort(held, minimum)
	return nil
}

// sort sorts what the node holds, where minimum is min.insync.replicas by topic.
func (r *drainResult) sort(held []heldPartition, minimum map[string]int) {
	r.LastReplicas, r.NotInSync, r.Leaders, r.givable = r.LastReplicas[:0], r.NotInSync[:0], 0, 0
	for _, p := range held {
		if p.Leader == r.Node {
			r.Leaders++
			if len(p.Replicas) > 1 {
				r.givable++
			}
		}
		others := 0
		for _, id := range p.ISR {
			if id != r.Node {
				others++
			}
		}
		switch wanted := max(1, min(minimum[p.Topic], len(p.Replicas)-1)); {
		case len(p.Replicas) == 1:
			r.LastReplicas = append(r.LastReplicas, p)
		case others < wanted:
			r.NotInSync = append(r.NotInSync, p)
		}
	}
}

// minimumISR is min.insync.replicas of the topics of partitions; 0: not known.
func minimumISR(ctx context.Context, admin *kadm.Client, held []heldPartition) (map[string]int, error) {
	var names []string
	for _, p := range held {
		if len(names) == 0 || names[len(names)-1] != p.Topic { // they are in order
			names = append(names, p.Topic)
		}
	}
	minimum := map[string]int{}
	if len(names) == 0 {
		return minimum, nil
	}
	configs, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, r := range configs {
		for _, c := range r.Configs {
			if c.Key == "min.insync.replicas" {
				if minimum[r.Name], err = strconv.Atoi(c.MaybeValue()); err != nil {
					return nil, fmt.Errorf("min.insync.replicas of %s: %w", r.Name, err)
				}
			}
		}
	}
	return minimum, nil
}

// drain has the cluster take the leaders off the node, again and again until it leads
// nothing but what nobody else holds.
func (f *drainFlags) drain(a *app, ctx context.Context, admin *kadm.Client, r *drainResult) error {
	look := time.NewTicker(drainLookEvery)
	defer look.Stop()
	for {
		if _, err := a.postDrain(ctx, "drain", r.Node); err != nil {
			return err
		}
		if err := r.look(ctx, admin); err != nil {
			return err
		}
		if r.givable == 0 {
			r.Done = true
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("it leads %s yet: %w", counted(r.givable, "partition"), context.Cause(ctx))
		}
	}
}

// postDrain asks a node of the cluster to drain one, or to take that back.
func (a *app) postDrain(ctx context.Context, action string, id int32) (broker.DrainReport, error) {
	addresses := splitAll(a.listeners)
	if len(addresses) == 0 {
		addresses = adminhttp.Guess(a.hosts(ctx))
	}
	var errs []error
	for _, answer := range adminhttp.Each[broker.PluginList](ctx, addresses, "/v1/plugins") { // it names the file of the token
		if answer.Err != nil {
			errs = append(errs, fmt.Errorf("no admin listener at %s: %w; --admin or MORTISE_ADMIN names another", answer.Address, answer.Err))
			continue
		}
		token, err := adminToken(ctx, answer.Address, answer.Page.TokenFile)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ask := map[string]int32{"broker": id}
		return adminhttp.Post[broker.DrainReport](ctx, answer.Address, "/v1/cluster/"+action, token, ask)
	}
	return broker.DrainReport{}, errors.Join(errs...)
}

// print prints what came of it; failed: an error follows.
func (r *drainResult) print(a *app, f *drainFlags, failed error) error {
	return a.printer().Value(r, func(w writer) error {
		switch {
		case r.Done:
			fmt.Fprintf(w, "node %d leads nothing that others could lead, and all that it holds is in sync elsewhere: stop it now\n", r.Node)
		case failed == nil && f.dryRun:
			fmt.Fprintf(w, "node %d could be drained: %s would be led by others\n", r.Node, counted(r.givable, "partition"))
		}
		return errors.Join(printHeld(w, "would be gone while it is stopped:", r.LastReplicas), printHeld(w, "would not take acks=all:", r.NotInSync))
	})
}

// printHeld prints partitions under a line, unless there is none.
func printHeld(w writer, head string, held []heldPartition) error {
	if len(held) == 0 {
		return nil
	}
	fmt.Fprintln(w, head)
	rows := [][]string{}
	for _, p := range held[:min(len(held), drainShown)] {
		rows = append(rows, []string{p.name(), fmt.Sprint(p.Leader), ids(p.Replicas), dash(ids(p.ISR))})
	}
	if err := output.Table(w, []string{"PARTITION", "LEADER", "REPLICAS", "ISR"}, rows); err != nil {
		return err
	}
	if more := len(held) - drainShown; more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return nil
}
