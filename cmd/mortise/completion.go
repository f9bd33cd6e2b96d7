package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
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
		return a.offered(c, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
			topics, err := admin.ListTopics(ctx)
			return topics.Names(), err
		})
	}
}

// completeGroups offers the cluster's groups for at most most arguments.
func (a *app) completeGroups(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.offered(c, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
			groups, err := admin.ListGroups(ctx)
			return groups.Groups(), err
		})
	}
}

// offered are the names that the cluster gives in time, and else none.
func (a *app) offered(c *cobra.Command, ask func(context.Context, *kadm.Client) ([]string, error)) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completionWait)
	defer cancel()
	err := a.withAdmin(func(admin *kadm.Client) (err error) {
		names, err = ask(ctx, admin)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// anyNumber lets completeTopics and completeGroups offer names for every argument.
const anyNumber = 1 << 30
