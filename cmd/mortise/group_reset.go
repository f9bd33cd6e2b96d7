package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// resetFlags say where a group shall go on.
type resetFlags struct {
	topics            []string
	partitions        []int32 // of the topics; empty: all
	earliest, latest  bool
	offset            int64
	shift             int64
	time              string
	ago               time.Duration
	execute           bool
	hasOffset, hasAgo bool
	hasShift, hasTime bool
}

// resetRow is what a reset does to one partition.
type resetRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"` // -1: nothing is committed
	To        int64  `json:"to"`
	Error     string `json:"error,omitempty"`
}

// resetResult is a whole reset.
type resetResult struct {
	Group   string     `json:"group"`
	Done    bool       `json:"done"` // false: only the plan
	Offsets []resetRow `json:"offsets"`
}

func groupResetCommand(a *app) *cobra.Command {
	var f resetFlags
	c := &cobra.Command{
		Use:   "reset NAME",
		Short: "Set where a group goes on; prints the plan unless --execute is given",
		Long: `Set where a group goes on: at the earliest or latest record, at an offset, at a
time, or so many records on or back. Without --execute nothing is changed and the
plan is printed. Groups with members are refused: stop them first.`,
		Example: `  mortise group reset billing --to-earliest
  mortise group reset billing --topic orders --to-time 2026-01-31T00:00:00Z --execute
  mortise group reset billing --by-duration 24h --execute
  mortise group reset billing --topic orders --partition 3 --to-offset 1200 --execute`,
		Args: cobra.ExactArgs(1),

		ValidArgsFunction: a.completeGroups(1),
		RunE: func(c *cobra.Command, names []string) error {
			set := c.Flags().Changed
			f.hasOffset, f.hasShift, f.hasTime, f.hasAgo = set("to-offset"), set("shift-by"), set("to-time"), set("by-duration")
			if err := f.check(); err != nil {
				return err
			}
			result, err := a.reset(c.Context(), names[0], &f)
			if err != nil {
				return err
			}
			return result.print(a)
		},
	}
	c.Flags().StringSliceVarP(&f.topics, "topic", "t", nil, "topics to reset; without it those that the group has offsets of")
	c.Flags().Int32SliceVar(&f.partitions, "partition", nil, "only these partitions of the topics")
	c.Flags().BoolVar(&f.earliest, "to-earliest", false, "go on at the first record")
	c.Flags().BoolVar(&f.latest, "to-latest", false, "go on behind the last record")
	c.Flags().Int64Var(&f.offset, "to-offset", 0, "go on at this offset, or the nearest that there is")
	c.Flags().Int64Var(&f.shift, "shift-by", 0, "go on so many records later; earlier if negative")
	c.Flags().StringVar(&f.time, "to-time", "", "go on at the first record of this time or later, as 2026-01-31T00:00:00Z")
	c.Flags().DurationVar(&f.ago, "by-duration", 0, "go on at the first record that is not older than this, as 24h")
	c.Flags().BoolVar(&f.execute, "execute", false, "do it, and not only print the plan")
	c.Flags().Bool("dry-run", true, "print the plan and change nothing: the default")
	c.MarkFlagsMutuallyExclusive("execute", "dry-run")
	return c
}

// check refuses flags that do not say one place.
func (f *resetFlags) check() error {
	n := 0
	for _, set := range []bool{f.earliest, f.latest, f.hasOffset, f.hasShift, f.hasTime, f.hasAgo} {
		if set {
			n++
		}
	}
	if n != 1 {
		return output.Usagef("say where to: one of --to-earliest, --to-latest, --to-offset, --shift-by, --to-time, --by-duration")
	}
	if f.hasTime {
		if _, err := time.Parse(time.RFC3339, f.time); err != nil {
			return output.Usagef("--to-time %q is not a time as 2026-01-31T00:00:00Z", f.time)
		}
	}
	return nil
}

// reset plans a reset, and does it if that was asked for.
func (a *app) reset(ctx context.Context, name string, f *resetFlags) (*resetResult, error) {
	admin, done, err := a.admin()
	if err != nil {
		return nil, err
	}
	defer done()
	exists, err := checkIdle(ctx, admin, name)
	if err != nil {
		return nil, err
	}
	var have kadm.OffsetResponses
	if exists { // else its coordinator may not be there yet, and nothing is committed
		if have, err = admin.FetchOffsets(ctx, name); err != nil {
			return nil, err
		}
	}
	result := &resetResult{Group: name, Offsets: []resetRow{}}
	if result.Offsets, err = f.plan(ctx, admin, have); err != nil {
		return nil, err
	}
	if !f.execute {
		return result, nil
	}
	result.Done = true
	return result, result.commit(ctx, admin)
}

// checkIdle refuses a group with members: their next commit would undo a reset. A group
// that does not exist is idle, and a reset makes it.
func checkIdle(ctx context.Context, admin *kadm.Client, name string) (exists bool, err error) {
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return false, err
	}
	g, exists := listed[name]
	if !exists || g.State == "Empty" || g.State == "Dead" {
		return exists, nil
	}
	members := "members"
	if views, err := describeListed(ctx, admin, g); err == nil && len(views) == 1 {
		members = strconv.Itoa(len(views[0].Members)) + " members"
	}
	return exists, fmt.Errorf("group %s is %s and has %s: stop them first", name, g.State, members)
}

// plan finds out where the group goes on in each partition.
func (f *resetFlags) plan(ctx context.Context, admin *kadm.Client, have kadm.OffsetResponses) ([]resetRow, error) {
	topics := f.topics
	if len(topics) == 0 {
		for topic := range have {
			topics = append(topics, topic)
		}
	}
	if len(topics) == 0 {
		return nil, fmt.Errorf("the group has no offsets: name its topics with --topic")
	}
	starts, err := admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	aims, err := f.aims(ctx, admin, starts, ends, topics)
	if err != nil {
		return nil, err
	}
	rows := []resetRow{}
	var failed error
	ends.Each(func(end kadm.ListedOffset) {
		if len(f.partitions) > 0 && !slices.Contains(f.partitions, end.Partition) {
			return
		}
		start, _ := starts.Lookup(end.Topic, end.Partition)
		aim, _ := aims.Lookup(end.Topic, end.Partition)
		if err := cmp.Or(end.Err, start.Err, aim.Err); err != nil {
			failed = fmt.Errorf("%s partition %d: %w", end.Topic, end.Partition, err)
			return
		}
		row := resetRow{Topic: end.Topic, Partition: end.Partition, From: -1}
		if o, ok := have.Lookup(end.Topic, end.Partition); ok {
			row.From = o.At
		}
		row.To = min(max(f.target(row.From, aim.Offset), start.Offset), end.Offset)
		rows = append(rows, row)
	})
	if failed == nil && len(rows) == 0 {
		failed = fmt.Errorf("there is no such partition")
	}
	slices.SortFunc(rows, func(x, y resetRow) int {
		return cmp.Or(cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Partition, y.Partition))
	})
	return rows, failed
}

// aims are the offsets that the flags name, where the cluster has to be asked.
func (f *resetFlags) aims(ctx context.Context, admin *kadm.Client, starts, ends kadm.ListedOffsets, topics []string) (kadm.ListedOffsets, error) {
	switch {
	case f.earliest:
		return starts, nil
	case f.hasTime:
		at, err := time.Parse(time.RFC3339, f.time)
		if err != nil {
			return nil, err
		}
		return admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)
	case f.hasAgo:
		return admin.ListOffsetsAfterMilli(ctx, time.Now().Add(-f.ago).UnixMilli(), topics...)
	}
	return ends, nil
}

// target is where to go on, before the bounds of the log.
func (f *resetFlags) target(from, aim int64) int64 {
	switch {
	case f.hasOffset:
		return f.offset
	case f.hasShift:
		return max(from, 0) + f.shift
	}
	return aim
}

// commit does what was planned.
func (r *resetResult) commit(ctx context.Context, admin *kadm.Client) error {
	var offsets kadm.Offsets
	for _, row := range r.Offsets {
		offsets.AddOffset(row.Topic, row.Partition, row.To, -1)
	}
	done, err := admin.CommitOffsets(ctx, r.Group, offsets)
	if err != nil {
		return err
	}
	for i := range r.Offsets {
		row := &r.Offsets[i]
		if o, ok := done.Lookup(row.Topic, row.Partition); ok && o.Err != nil {
			row.Error = kerrName(o.Err)
		}
	}
	return nil
}

// print prints the plan or what was done, and fails if a partition has failed.
func (r *resetResult) print(a *app) error {
	failed := 0
	var rows [][]string
	for _, row := range r.Offsets {
		if row.Error != "" {
			failed++
		}
		rows = append(rows, []string{row.Topic, strconv.Itoa(int(row.Partition)), number(row.From), number(row.To), row.Error})
	}
	err := a.printer().Value(r, func(w writer) error {
		if err := output.Table(w, []string{"TOPIC", "PARTITION", "FROM", "TO", ""}, rows); err != nil {
			return err
		}
		if r.Done {
			fmt.Fprintf(w, "%s: reset\n", r.Group)
		} else {
			fmt.Fprintf(w, "%s: nothing was changed; --execute does it\n", r.Group)
		}
		return nil
	})
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d partitions failed", failed, len(r.Offsets))
	}
	return err
}
