package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/cmd/internal/reassignment"
)

// movesShown is how many moves a person is shown; JSON has all.
const movesShown = 50

// reassignFlags say what to move where.
type reassignFlags struct {
	topics       []string
	to, away     []int
	factor       int
	file         string
	execute      bool
	list, cancel bool
	wait         time.Duration
	throttle     int64 // bytes a second; 0: none
	unthrottle   bool
}

// reassignResult is a plan, and what became of it.
type reassignResult struct {
	Done  bool                `json:"done"`  // false: only the plan
	Moves []reassignment.Move `json:"moves"` // if done, those that the cluster began
	// Left is how many moves were under way when the command ended.
	Left int `json:"left"`
	// Throttle is the bytes a second that the moves were held to. It counts on as long as
	// any is left.
	Throttle int64 `json:"throttle,omitempty"`
}

func clusterReassignCommand(a *app) *cobra.Command {
	var f reassignFlags
	c := &cobra.Command{
		Use:   "reassign",
		Short: "Spread replicas over nodes; prints the plan unless --execute is given",
		Long: `Spread replicas over nodes: evenly over all that live, or with --to or --away over
some; with --factor each partition gets so many. It moves as little as it can, and puts
replicas of a partition on different racks. Without --execute nothing is changed and the
plan is printed; -o json gives all of it.

A partition is served while it moves: the cluster copies it to the new nodes, and lets the
old ones go when those are in sync. With --execute the command waits until all is moved;
what it began goes on when it is ended. --list shows what is being moved, --cancel takes
it back. --file takes the plan of Kafka's kafka-reassign-partitions.

--throttle bounds what moves copy, in bytes a second from each node and to each (Kafka's
leader. and follower.replication.throttled.rate). The command takes that away again when
all is moved; if it is ended before, the bound stays, and --unthrottle takes it away.`,
		Example: `  mortise cluster reassign
  mortise cluster reassign --factor 1 --execute
  mortise cluster reassign --topic orders --to 1
  mortise cluster reassign --throttle 50000000 --execute
  mortise cluster reassign --list
  mortise cluster reassign --cancel`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("dry-run") && f.execute {
				return output.Usagef("--execute or --dry-run, not both")
			}
			if err := f.check(); err != nil {
				return err
			}
			client, err := a.client()
			if err != nil {
				return err
			}
			defer client.Close()
			switch {
			case f.list || f.cancel:
				return f.pending(a, c.Context(), client)
			case f.unthrottle:
				return f.free(a, c.Context(), client)
			}
			return f.run(a, c.Context(), client)
		},
	}
	c.Flags().StringSliceVarP(&f.topics, "topic", "t", nil, "only these topics; without it all, those that brokers keep for themselves too")
	c.Flags().IntSliceVar(&f.to, "to", nil, "`nodes` that may hold replicas; without it all that live")
	c.Flags().IntSliceVar(&f.away, "away", nil, "`nodes` that may hold none")
	c.Flags().IntVarP(&f.factor, "factor", "r", 0, "replicas of each partition; 0: as many as it has")
	c.Flags().StringVarP(&f.file, "file", "f", "", "take the plan from a JSON file of kafka-reassign-partitions")
	c.Flags().BoolVar(&f.execute, "execute", false, "do it, and not only print the plan")
	c.Flags().Bool("dry-run", true, "print the plan and change nothing: the default")
	c.Flags().BoolVar(&f.list, "list", false, "show what is being moved")
	c.Flags().BoolVar(&f.cancel, "cancel", false, "take back what is being moved")
	c.Flags().DurationVar(&f.wait, "wait", 0, "with --execute, wait so long; 0: until all is moved")
	c.Flags().Int64Var(&f.throttle, "throttle", 0, "with --execute, copy at most so many `bytes` a second from each node and to each; 0: no bound")
	c.Flags().BoolVar(&f.unthrottle, "unthrottle", false, "take away what --throttle left")
	a.addBrokers(c)
	return c
}

// check refuses flags that contradict each other.
func (f *reassignFlags) check() error {
	switch {
	case f.factor < 0:
		return output.Usagef("--factor %d: write how many replicas each partition shall have", f.factor)
	case len(f.to) > 0 && len(f.away) > 0:
		return output.Usagef("--to or --away, not both")
	case f.list && f.cancel:
		return output.Usagef("--list or --cancel, not both")
	case f.file != "" && (len(f.topics) > 0 || len(f.to) > 0 || len(f.away) > 0 || f.factor > 0):
		return output.Usagef("--file says where everything goes; leave out --topic, --to, --away and --factor")
	case f.unthrottle && (f.list || f.cancel):
		return output.Usagef("--unthrottle, --list or --cancel, not two of them")
	case (f.list || f.cancel || f.unthrottle) && (f.execute || f.file != "" || len(f.to) > 0 || len(f.away) > 0 || f.factor > 0 || f.throttle != 0):
		return output.Usagef("--list, --cancel and --unthrottle go with --topic only")
	case f.wait < 0:
		return output.Usagef("--wait %s", f.wait)
	case f.throttle < 0:
		return output.Usagef("--throttle %d: write how many bytes a second", f.throttle)
	case f.throttle > 0 && !f.execute:
		return output.Usagef("--throttle goes with --execute")
	}
	return nil
}

// run plans, and does it if that was asked for.
func (f *reassignFlags) run(a *app, ctx context.Context, client *kgo.Client) error {
	admin := kadm.NewClient(client)
	moves, err := f.plan(ctx, admin)
	if err != nil {
		return err
	}
	r := &reassignResult{Done: f.execute, Moves: moves}
	if !f.execute || len(moves) == 0 {
		return r.print(a)
	}
	if f.throttle > 0 {
		if err := reassignment.Throttle(ctx, client, moves, f.throttle); err != nil {
			return errors.Join(err, unthrottle(ctx, client, moves))
		}
		r.Throttle = f.throttle
	}
	began, refused := reassignment.Start(ctx, admin, moves)
	if len(began) == 0 {
		return errors.Join(refused, f.settle(ctx, client, moves))
	}
	r.Moves, r.Left = began, len(began)
	waited := f.await(a, ctx, client, r)
	if r.Left == 0 {
		waited = errors.Join(waited, f.settle(ctx, client, moves))
	}
	return errors.Join(r.print(a), refused, waited)
}

// await waits until all is moved, or as long as --wait says.
func (f *reassignFlags) await(a *app, ctx context.Context, client *kgo.Client, r *reassignResult) error {
	if f.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.wait, errors.New("it was waited for as long as --wait says"))
		defer cancel()
	}
	bar := output.NewProgress(a.err, "partitions moved", int64(len(r.Moves)), false)
	defer bar.Finish()
	return reassignment.Wait(ctx, client, r.Moves, func(left int) {
		r.Left = left
		bar.Set(int64(len(r.Moves) - left))
	})
}

// plan makes the moves that the flags mean.
func (f *reassignFlags) plan(ctx context.Context, admin *kadm.Client) ([]reassignment.Move, error) {
	all, err := reassignment.Partitions(ctx, admin)
	if err != nil {
		return nil, err
	}
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, &output.UsageError{Err: err}
		}
		moves, err := reassignment.ReadFile(text, all)
		if err != nil {
			return nil, output.Usagef("%s: %w", f.file, err)
		}
		return moves, nil
	}
	for _, name := range f.topics {
		if !slices.ContainsFunc(all, func(p reassignment.Partition) bool { return p.Topic == name }) {
			return nil, fmt.Errorf("there is no topic %s", name)
		}
	}
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return nil, err
	}
	g := reassignment.Goal{Factor: f.factor}
	if g.Nodes, err = f.nodes(brokers); err != nil {
		return nil, err
	}
	if len(f.topics) > 0 {
		g.Chosen = func(p *reassignment.Partition) bool { return slices.Contains(f.topics, p.Topic) }
	}
	moves, err := reassignment.Plan(all, g)
	if errors.Is(err, reassignment.ErrTooFewNodes) {
		err = fmt.Errorf("%w: start another node, or let partitions have fewer replicas with --factor", err)
	}
	return moves, err
}

// nodes are those that may hold replicas.
func (f *reassignFlags) nodes(brokers kadm.BrokerDetails) ([]reassignment.Node, error) {
	var nodes []reassignment.Node
	for _, b := range brokers {
		if slices.Contains(f.away, int(b.NodeID)) || len(f.to) > 0 && !slices.Contains(f.to, int(b.NodeID)) {
			continue
		}
		n := reassignment.Node{ID: b.NodeID}
		if b.Rack != nil {
			n.Rack = *b.Rack
		}
		nodes = append(nodes, n)
	}
	for _, id := range f.to {
		if !slices.ContainsFunc(nodes, func(n reassignment.Node) bool { return int(n.ID) == id }) {
			return nil, fmt.Errorf("node %d does not live; mortise cluster status shows who does", id)
		}
	}
	return nodes, nil
}

// print prints the plan.
func (r *reassignResult) print(a *app) error {
	r.Moves = append([]reassignment.Move{}, r.Moves...)
	return a.printer().Value(r, func(w writer) error {
		switch {
		case len(r.Moves) == 0:
			fmt.Fprintln(w, "nothing has to move")
			return nil
		case !r.Done:
			fmt.Fprintf(w, "%s would change; --execute does it\n", counted(len(r.Moves), "partition"))
		case r.Left > 0:
			fmt.Fprintf(w, "%d of %s are moved; mortise cluster reassign --list shows the others\n", len(r.Moves)-r.Left, counted(len(r.Moves), "partition"))
			if r.Throttle > 0 {
				fmt.Fprintln(w, "the throttle counts on; mortise cluster reassign --unthrottle takes it away")
			}
		default:
			fmt.Fprintf(w, "%s moved\n", counted(len(r.Moves), "partition"))
		}
		if r.Done {
			return nil
		}
		rows := [][]string{}
		for _, m := range r.Moves[:min(len(r.Moves), movesShown)] {
			rows = append(rows, []string{m.Topic, fmt.Sprint(m.Partition), ids(m.From), ids(m.To)})
		}
		if err := output.Table(w, []string{"TOPIC", "PARTITION", "FROM", "TO"}, rows); err != nil {
			return err
		}
		if more := len(r.Moves) - movesShown; more > 0 {
			fmt.Fprintf(w, "and %d more\n", more)
		}
		return nil
	})
}
