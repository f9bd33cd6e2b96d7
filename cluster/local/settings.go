package local

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Told are the addresses that a node tells others in place of those where it listens:
// those of a proxy. Empty: its own.
type Told struct {
	Peer        string // host:port for control
	Replication string // host:port for followers, at a listener of their own
}

// factorMax is the most copies that the topics of a cluster get by themselves.
const factorMax = 3

// settings is the settings file of a node. join: the cluster is there already.
func (c *Cluster) settings(n *Node, join bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Node %d of %d on this machine. It was written for this start and is written anew for the next.", n.ID, len(c.nodes))
	line("node: {id: %d}", n.ID)
	line("data: {dir: %q}", n.Data())
	line("listeners:")
	line("  - {name: PLAINTEXT, address: %q}", n.Clients())
	if n.told.Replication != "" {
		line("  - {name: REPLICATION, address: %q, advertised: %q}", n.at(n.replication), n.told.Replication)
	}
	line("admin: {address: %q}", n.Admin())
	line("cluster:")
	line("  listen: %q # where the other nodes connect", n.Peer())
	if n.told.Peer != "" {
		line("  advertised: %q", n.told.Peer)
	}
	if join {
		line("  join: [%s]", strings.Join(c.others(n), ", "))
	}
	line("  gossip: {listen: %q}", n.at(n.ports.Gossip))
	if n.told.Replication != "" {
		line("  replication_listener: REPLICATION")
	}
	line("defaults:")
	for _, key := range slices.Sorted(maps.Keys(c.defaults)) {
		line("  %s: %s", key, c.defaults[key])
	}
	return b.String()
}

// others are the peer addresses of the nodes but n, in quotes.
func (c *Cluster) others(n *Node) []string {
	var all []string
	for _, o := range c.nodes {
		if o == n {
			continue
		}
		address := o.Peer()
		if o.told.Peer != "" {
			address = o.told.Peer
		}
		all = append(all, fmt.Sprintf("%q", address))
	}
	return all
}

// defaults are Kafka's keys that make a cluster of n nodes one that can lose a node,
// and over them those of the caller.
func defaults(n int, own map[string]string) map[string]string {
	factor := fmt.Sprint(min(n, factorMax))
	all := map[string]string{"default.replication.factor": factor, "offsets.topic.replication.factor": factor}
	if n >= factorMax {
		all["min.insync.replicas"] = "2"
	}
	maps.Copy(all, own)
	return all
}
