package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// completionWait bounds how long a Tab waits for a cluster.
const completionWait = 2 * time.Second

// complete offers the values of a flag to the shell. A flag that is not there is
// our bug.
func complete(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("BUG: completion of --%s: %v", flag, err))
	}
}

// completeTopics offers the cluster's topics for at most most arguments; after
// them files, if files is set. A cluster that is not there offers nothing.
func (a *app) completeTopics(most int, files bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			if files {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		admin, done, err := a.admin()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer done()
		ctx, cancel := context.WithTimeout(c.Context(), completionWait)
		defer cancel()
		topics, err := admin.ListTopics(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return topics.Names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeGroups offers the cluster's groups for at most most arguments.
func (a *app) completeGroups(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		admin, done, err := a.admin()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer done()
		ctx, cancel := context.WithTimeout(c.Context(), completionWait)
		defer cancel()
		groups, err := admin.ListGroups(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return groups.Groups(), cobra.ShellCompDirectiveNoFileComp
	}
}

// anyNumber lets completeTopics and completeGroups offer names for every argument.
const anyNumber = 1 << 30
