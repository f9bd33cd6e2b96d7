package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/spf13/cobra"
)

// gossipKeyBytes makes the strongest of the keys that gossip takes.
const gossipKeyBytes = 32

func clusterKeyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Make a key that nodes know each other by",
		Long: `Make a key that nodes know each other by, and encrypt their gossip with: for
cluster.gossip.keys or a file that cluster.gossip.keys_file names. All nodes need it. To
change it without a gap:

  1. put the new key last in the list of every node, and reload each (SIGHUP);
  2. put it first, and reload each: it is used from now on;
  3. take the old key out, and reload each.`,
		Example: `  mortise cluster key`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key := make([]byte, gossipKeyBytes)
			if _, err := rand.Read(key); err != nil {
				return err
			}
			result := struct {
				Key string `json:"key"`
			}{base64.StdEncoding.EncodeToString(key)}
			return a.printer().Value(result, func(w writer) error {
				_, err := fmt.Fprintln(w, result.Key)
				return err
			})
		},
	}
}
