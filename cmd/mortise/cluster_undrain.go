package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// Bounds of the wait for a node that takes part again.
const (
	undrainLookEvery = 100 * time.Millisecond
	undrainWait      = 10 * time.Second
)

func clusterUndrainCommand(a *app) *cobra.Command {
	c := a.aboutNode(&cobra.Command{
		Use:   "undrain NODE",
		Short: "Take a drain back: the node may lead and hold new partitions again",
		Long: `Take a drain back: the node may lead and hold new partitions again. The command waits a
while until what the node holds is in sync there, which mortise cluster rebalance needs.`,
		Example: `  mortise cluster undrain 1`,
	}, func(ctx context.Context, id int32) error {
		answer, err := a.postDrain(ctx, "undrain", id)
		if err != nil {
			return fmt.Errorf("node %d: %w", id, err)
		}
		alive, behind := false, 0
		err = a.withAdmin(func(admin *kadm.Client) error {
			brokers, err := admin.ListBrokers(ctx)
			if err != nil {
				return err
			}
			if alive = slices.Contains(brokers.NodeIDs(), id); !alive {
				return nil
			}
			behind, err = awaitInSync(ctx, admin, id)
			return err
		})
		if err != nil {
			return fmt.Errorf("node %d takes part again: %w", id, err)
		}
		return a.printer().Value(answer, func(w writer) error {
			_, err := fmt.Fprintf(w, "node %d takes part again%s\n", id, afterUndrain(alive, behind))
			return err
		})
	})
	a.addAdmin(c)
	return c
}

// afterUndrain says what is still to come: of a node that is fenced, or behind.
func afterUndrain(alive bool, behind int) string {
	switch {
	case !alive:
		return " when it is heard of: it is fenced"
	case behind > 0:
		return "; " + counted(behind, "partition") + " there are not in sync yet"
	}
	return "; mortise cluster rebalance gives it its leaders back"
}

// awaitInSync waits for at most undrainWait until all that a node holds is in sync there,
// and gives the number of partitions that are not.
func awaitInSync(ctx context.Context, admin *kadm.Client, id int32) (int, error) {
	patience := time.NewTimer(undrainWait)
	defer patience.Stop()
	look := time.NewTicker(undrainLookEvery)
	defer look.Stop()
	for {
		topics, err := admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return 0, err
		}
		behind := slices.DeleteFunc(heldBy(topics, id), func(p heldPartition) bool { return slices.Contains(p.ISR, id) })
		if len(behind) == 0 {
			return 0, nil
		}
		select {
		case <-look.C:
		case <-patience.C:
			return len(behind), nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
