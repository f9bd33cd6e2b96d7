package main

import (
	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// consumerGroupCommand holds what is about consumer groups and their offsets.
func consumerGroupCommand(a *app) *cobra.Command {
	c := group("group", "List, describe, reset and delete consumer groups",
		groupListCommand(a), groupDescribeCommand(a), groupLagCommand(a), groupResetCommand(a), groupDeleteCommand(a))
	for _, sub := range c.Commands() {
		a.addBrokers(sub)
	}
	return c
}

// groupSummary is a group in a list.
type groupSummary struct {
	Name         string `json:"name"`
	State        string `json:"state"`
	Type         string `json:"type"`
	ProtocolType string `json:"protocol_type"`
	Coordinator  int32  `json:"coordinator"`
}

func groupListCommand(a *app) *cobra.Command {
	var states, types []string
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List groups",
		Example: "  mortise group list\n  mortise group list --state Stable -o json\n  mortise group list --type consumer",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			groups, err := admin.ListGroupsByType(c.Context(), types, states...)
			if err != nil {
				return err
			}
			views, rows := []groupSummary{}, [][]string{}
			for _, g := range groups.Sorted() {
				views = append(views, groupSummary{g.Group, g.State, g.GroupType, g.ProtocolType, g.Coordinator})
				rows = append(rows, []string{g.Group, g.State, g.GroupType, g.ProtocolType})
			}
			return a.printer().Value(views, func(w writer) error {
				return output.Table(w, []string{"NAME", "STATE", "TYPE", "PROTOCOL"}, rows)
			})
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "only groups in these states: Empty, PreparingRebalance, CompletingRebalance, Stable; of consumer groups Assigning and Reconciling too")
	c.Flags().StringSliceVar(&types, "type", nil, "only groups of these types: classic, or consumer for the protocol of KIP-848")
	complete(c, "type", typeClassic, typeConsumer)
	return c
}

func groupDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME…",
		Short:   "Delete groups without members, and their offsets",
		Example: "  mortise group delete billing",
		Args:    cobra.MinimumNArgs(1),

		ValidArgsFunction: a.completeGroups(anyNumber),
		RunE: func(c *cobra.Command, names []string) error {
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			deleted, err := admin.DeleteGroups(c.Context(), names...)
			if err != nil {
				return err
			}
			results := newResults("deleted")
			for _, r := range deleted.Sorted() {
				results.add(r.Group, r.Err, r.ErrMessage)
			}
			return results.print(a)
		},
	}
}
