package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

func groupDescribeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "describe NAME…",
		Short:   "Show a group's members and what they have and, by partition, its offset, the end and the lag",
		Example: "  mortise group describe billing\n  mortise group describe billing -o json",
		Args:    cobra.MinimumNArgs(1),

		ValidArgsFunction: a.completeGroups(anyNumber),
		RunE: func(c *cobra.Command, names []string) error {
			views, err := a.groups(c.Context(), names)
			if err != nil {
				return err
			}
			return a.printer().Value(views, func(w writer) error {
				for _, v := range views {
					if err := v.text(w); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func groupLagCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "lag [NAME…]",
		Short:   "Show how many records groups are behind, by topic; without names of all groups",
		Example: "  mortise group lag\n  mortise group lag billing -o json",

		ValidArgsFunction: a.completeGroups(anyNumber),
		RunE: func(c *cobra.Command, names []string) error {
			views, err := a.groups(c.Context(), names)
			if err != nil {
				return err
			}
			rows := lagRows(views)
			return a.printer().Value(rows, func(w writer) error {
				var text [][]string
				for _, r := range rows {
					text = append(text, []string{r.Group, r.Topic, strconv.Itoa(r.Partitions), strconv.FormatInt(r.Lag, 10)})
				}
				return output.Table(w, []string{"GROUP", "TOPIC", "PARTITIONS", "LAG"}, text)
			})
		},
	}
}

// lagRow is how far a group is behind in one topic.
type lagRow struct {
	Group      string `json:"group"`
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Lag        int64  `json:"lag"`
}

// lagRows adds the partitions of each topic up. Partitions whose lag is not known
// count as none.
func lagRows(views []groupView) []lagRow {
	rows := []lagRow{}
	for _, v := range views {
		for _, o := range v.Offsets {
			if n := len(rows); n == 0 || rows[n-1].Group != v.Name || rows[n-1].Topic != o.Topic {
				rows = append(rows, lagRow{Group: v.Name, Topic: o.Topic})
			}
			r := &rows[len(rows)-1]
			r.Partitions++
			r.Lag += max(o.Lag, 0)
		}
	}
	return rows
}
