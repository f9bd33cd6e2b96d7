package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
)

func clusterCommand(a *app) *cobra.Command {
	c := group("cluster", "See the nodes of a cluster, move what they hold, and take them out for a while",
		clusterStatusCommand(a), clusterMembersCommand(a), clusterVotersCommand(a), clusterRebalanceCommand(a),
		clusterReassignCommand(a), clusterDrainCommand(a), clusterUndrainCommand(a), clusterKeyCommand(a))
	c.Long = `See the nodes of a cluster, move what they hold, and take them out for a while.

A cluster is nodes that know each other: each has cluster.listen in its settings, and
all but the first have cluster.join, which names one that is there already. To try it
on this machine: mortise dev cluster --nodes 3.

  mortise cluster status                          is everybody there?
  mortise cluster reassign --factor 3 --execute   three copies of everything
  mortise cluster drain 2                         before node 2 is stopped
  mortise cluster rebalance                       leaders back to where they belong`
	return c
}

// clients is where clients find a node; empty: not known.
func clients(n *broker.ClusterNode) string {
	if len(n.Listeners) == 0 {
		return ""
	}
	return net.JoinHostPort(n.Listeners[0].Host, strconv.Itoa(int(n.Listeners[0].Port)))
}

// errNoPage says that no admin listener has told of the cluster.
var errNoPage = errors.New("no admin listener tells of the cluster")

// clusterPages asks the nodes of a cluster for what they know of it: first the
// listeners that were named or guessed, then those that their answers name. Each page
// is of another node. missing says who did not answer.
func (a *app) clusterPages(ctx context.Context) (pages []broker.ClusterReport, missing error) {
	addresses := splitAll(a.listeners)
	if len(addresses) == 0 {
		addresses = adminhttp.Guess(a.hosts(ctx))
	}
	pages, missing = askListeners(ctx, addresses, "/v1/cluster", sameCluster())
	if len(pages) == 0 {
		return nil, fmt.Errorf("%w: %w", errNoPage, missing)
	}
	known := map[int32]bool{}
	for i := range pages {
		known[pages[i].Broker] = true
	}
	if more := othersListeners(pages[0].Nodes, known); len(more) > 0 {
		others, silent := askListeners(ctx, more, "/v1/cluster", func(p *broker.ClusterReport) bool { return p.ClusterID == pages[0].ClusterID })
		pages, missing = append(pages, others...), silent // a guess that was wrong is not missing once the nodes are known
	}
	slices.SortStableFunc(pages, func(a, b broker.ClusterReport) int { return cmp.Compare(a.Broker, b.Broker) })
	return slices.CompactFunc(pages, func(a, b broker.ClusterReport) bool { return a.Broker == b.Broker }), missing
}

// sameCluster takes pages of the cluster of the first page only.
func sameCluster() func(*broker.ClusterReport) bool {
	id := ""
	return func(p *broker.ClusterReport) bool {
		id = cmp.Or(id, p.ClusterID)
		return p.ClusterID == id
	}
}

// othersListeners are the admin listeners of nodes that are not known yet. One that
// listens everywhere is where its clients find the node.
func othersListeners(nodes []broker.ClusterNode, known map[int32]bool) []string {
	var all []string
	for i := range nodes {
		n := &nodes[i]
		host, port, err := net.SplitHostPort(n.Admin)
		if known[n.ID] || err != nil {
			continue
		}
		if ip := net.ParseIP(host); (host == "" || ip != nil && ip.IsUnspecified()) && len(n.Listeners) > 0 {
			host = n.Listeners[0].Host
		}
		all = append(all, net.JoinHostPort(host, port))
	}
	return all
}

// hosts are the hosts of all brokers if one answers, else of those that were named.
func (a *app) hosts(ctx context.Context) []string {
	admin, done, err := a.admin()
	if err != nil {
		return hostsOf(splitAll(a.brokers))
	}
	defer done()
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return hostsOf(splitAll(a.brokers))
	}
	var hosts []string
	for _, b := range brokers {
		hosts = append(hosts, b.Host)
	}
	return append(hosts, hostsOf(splitAll(a.brokers))...)
}

// aboutNode makes a command out of c that takes the id of one node and is done by run.
func (a *app) aboutNode(c *cobra.Command, run func(ctx context.Context, id int32) error) *cobra.Command {
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), a.completeNodes
	c.RunE = func(c *cobra.Command, args []string) error {
		id, err := nodeArgument(args[0])
		if err != nil {
			return &output.UsageError{Err: err}
		}
		return run(c.Context(), id)
	}
	a.addBrokers(c)
	return c
}

// nodeArgument reads the id of a node.
func nodeArgument(s string) (int32, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not the id of a node", s)
	}
	return int32(n), nil
}

// completeNodes offers the ids of the cluster's brokers.
func (a *app) completeNodes(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const files = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, files
	}
	admin, done, err := a.admin()
	if err != nil {
		return nil, files
	}
	defer done()
	ctx, cancel := context.WithTimeout(c.Context(), completionWait)
	defer cancel()
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return nil, files
	}
	var found []cobra.Completion
	for _, b := range brokers {
		found = append(found, strconv.Itoa(int(b.NodeID)))
	}
	return found, files
}

// withAdmin calls f with an admin client.
func (a *app) withAdmin(f func(*kadm.Client) error) error {
	admin, done, err := a.admin()
	if err != nil {
		return err
	}
	defer done()
	return f(admin)
}

// dash stands for a text that is not known.
func dash(s string) string { return cmp.Or(strings.TrimSpace(s), "-") }
