package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

func topicListCommand(a *app) *cobra.Command {
	var internal bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List topics",
		Example: "  mortise topic list\n  mortise topic list --internal -o json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			list := admin.ListTopics
			if internal {
				list = admin.ListTopicsWithInternal
			}
			topics, err := list(c.Context())
			if err != nil {
				return err
			}
			views, rows := []topicSummary{}, [][]string{}
			for _, t := range topics.Sorted() {
				s := topicSummary{t.Topic, len(t.Partitions), t.Partitions.NumReplicas()}
				views = append(views, s)
				rows = append(rows, []string{s.Name, strconv.Itoa(s.Partitions), strconv.Itoa(s.ReplicationFactor)})
			}
			return a.printer().Value(views, func(w writer) error {
				return output.Table(w, []string{"NAME", "PARTITIONS", "REPLICAS"}, rows)
			})
		},
	}
	c.Flags().BoolVar(&internal, "internal", false, "include the topics that brokers keep for themselves")
	return c
}

type topicSummary struct {
	Name              string `json:"name"`
	Partitions        int    `json:"partitions"`
	ReplicationFactor int    `json:"replication_factor"`
}
