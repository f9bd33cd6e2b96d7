package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/cmd/internal/secret"
	"github.com/mortisemq/mortise/core/settings"
)

// joinOptions adds what makes the node one of a cluster, with the secrets that the
// settings only name the files of.
func joinOptions(o *cluster.Options, s *settings.Settings) error {
	c := &s.Cluster
	if c.Listen == "" {
		return nil
	}
	keys, err := gossipKeys(s)
	if err != nil {
		return err
	}
	o.Peer = cluster.PeerOptions{
		Listen: c.Listen, Advertise: c.Advertised, Join: c.Join, Voters: c.Voters, VoterReplaceAfter: c.VoterReplaceAfter,
		GossipListen: c.Gossip.Listen, GossipAdvertise: c.Gossip.Advertised, GossipKeys: keys,
	}
	o.Broker.Replication.Listener, o.Broker.Replication.User = c.ReplicationListener, c.User
	if c.PasswordFile == "" {
		return nil
	}
	if o.Broker.Replication.Password, err = secret.File(c.PasswordFile); err != nil {
		return &output.UsageError{Err: fmt.Errorf("cluster.password_file: %w", err)}
	}
	return nil
}

// gossipKeys are the keys of the settings, or of the file that they name.
func gossipKeys(s *settings.Settings) ([][]byte, error) {
	file := s.Cluster.Gossip.KeysFile
	if file == "" {
		return s.Cluster.Gossip.Keys, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &output.UsageError{Err: fmt.Errorf("cluster.gossip.keys_file: %w", err)}
	}
	keys, err := settings.ParseGossipKeys(strings.Fields(string(text)))
	if err == nil && len(keys) == 0 {
		err = errors.New("it has no key; `mortise cluster key` makes one")
	}
	if err != nil {
		return nil, &output.UsageError{Err: fmt.Errorf("cluster.gossip.keys_file: %s: %w", file, err)}
	}
	return keys, nil
}
