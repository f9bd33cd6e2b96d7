package main

import (
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

func topicAlterCommand(a *app) *cobra.Command {
	var (
		partitions int
		set, unset []string
	)
	c := &cobra.Command{
		Use:   "alter NAME…",
		Short: "Add partitions to topics, and set or unset their configs",
		Example: `  mortise topic alter orders --partitions 24
  mortise topic alter orders --set retention.ms=86400000 --unset segment.bytes`,
		Args: cobra.MinimumNArgs(1),

		ValidArgsFunction: a.completeTopics(anyNumber, false),
		RunE: func(c *cobra.Command, names []string) error {
			changes, err := configChanges(set, unset)
			if err != nil {
				return err
			}
			grow := c.Flags().Changed("partitions")
			switch {
			case !grow && len(changes) == 0:
				return output.Usagef("nothing to alter: give --partitions, --set or --unset")
			case grow && partitions < 1:
				return output.Usagef("--partitions %d: write how many there shall be", partitions)
			}
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			results := newResults("altered")
			if grow {
				altered, err := admin.UpdatePartitions(c.Context(), partitions, names...)
				if err != nil {
					return err
				}
				for _, r := range altered.Sorted() {
					results.add(r.Topic, r.Err, r.ErrMessage)
				}
			}
			if len(changes) > 0 {
				altered, err := admin.AlterTopicConfigs(c.Context(), changes, names...)
				if err != nil {
					return err
				}
				for _, r := range altered {
					results.add(r.Name, r.Err, r.ErrMessage)
				}
			}
			return results.print(a)
		},
	}
	c.Flags().IntVarP(&partitions, "partitions", "p", 0, "the number of partitions afterwards; it can only grow")
	c.Flags().StringArrayVar(&set, "set", nil, "set a config, KEY=VALUE; may be given again")
	c.Flags().StringArrayVar(&unset, "unset", nil, "take a config back to its default, KEY; may be given again")
	return c
}

// configChanges are the incremental changes of --set and --unset.
func configChanges(set, unset []string) ([]kadm.AlterConfig, error) {
	values, err := keyValues(set)
	if err != nil {
		return nil, err
	}
	var changes []kadm.AlterConfig
	for key, value := range values {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: value})
	}
	for _, key := range unset {
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: key})
	}
	return changes, nil
}
