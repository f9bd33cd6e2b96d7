package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/cmd/internal/reassignment"
)

// pending shows what is being moved, or takes it back.
func (f *reassignFlags) pending(a *app, ctx context.Context, client *kgo.Client) error {
	pending, err := reassignment.List(ctx, client)
	if err != nil {
		return err
	}
	if len(f.topics) > 0 {
		pending = slices.DeleteFunc(pending, func(p reassignment.Pending) bool { return !slices.Contains(f.topics, p.Topic) })
	}
	if f.cancel && len(pending) > 0 {
		if err := f.takeBack(ctx, client, pending); err != nil {
			return err
		}
	}
	return a.printer().Value(pending, func(w writer) error {
		switch {
		case len(pending) == 0:
			fmt.Fprintln(w, "nothing is being moved")
			return nil
		case f.cancel:
			fmt.Fprintf(w, "%s taken back\n", counted(len(pending), "move"))
			return nil
		}
		rows := [][]string{}
		for _, p := range pending {
			rows = append(rows, []string{p.Topic, fmt.Sprint(p.Partition), ids(p.Replicas), dash(ids(p.Adding)), dash(ids(p.Removing))})
		}
		return output.Table(w, []string{"TOPIC", "PARTITION", "REPLICAS", "ADDING", "REMOVING"}, rows)
	})
}

// takeBack cancels moves, and what held them back.
func (f *reassignFlags) takeBack(ctx context.Context, client *kgo.Client, pending []reassignment.Pending) error {
	if err := reassignment.Cancel(ctx, kadm.NewClient(client), pending); err != nil {
		return err
	}
	var moves []reassignment.Move
	for _, p := range pending {
		moves = append(moves, reassignment.Move{Topic: p.Topic, Partition: p.Partition})
	}
	return unthrottle(ctx, client, moves)
}
