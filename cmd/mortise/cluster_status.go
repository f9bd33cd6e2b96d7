package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
)

// clusterView is a cluster as it is printed.
type clusterView struct {
	ClusterID  string                   `json:"cluster_id"`
	Controller int32                    `json:"controller"` // -1: none, nothing can be decided
	Term       uint64                   `json:"term,omitempty"`
	Nodes      []nodeView               `json:"nodes"`
	Partitions broker.ClusterPartitions `json:"partitions"`
	NotKnown   string                   `json:"not_known,omitempty"` // what could not be found out, and why
}

// nodeView is one node, with what it says of itself.
type nodeView struct {
	broker.ClusterNode
	// Raft and Index are the node's own words; nil and 0: it was not asked.
	Raft  *broker.ClusterRaft `json:"raft,omitempty"`
	Index uint64              `json:"index,omitempty"`
}

func clusterStatusCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes of a cluster, who decides, and how the partitions are",
		Long: `Show the nodes of a cluster, who decides, and how the partitions are.

STATE is active, fenced (it does not answer, others lead) or draining (it gives its
partitions up). CONTROL says what part a node has in deciding: leader, voter or observer,
and how many decisions it has not applied yet. LEADS n/m: it leads n partitions and
should lead m; cluster rebalance makes them equal.

Most of it is asked of the admin listeners. One that answers is enough to find the
others.`,
		Example: `  mortise cluster status
  mortise cluster status --brokers broker1.example.com:9092 --admin broker1.example.com:9644
  mortise cluster status -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := a.clusterStatus(c.Context())
			if err != nil {
				return err
			}
			return a.printer().Value(v, v.print)
		},
	}
	a.addBrokers(c)
	a.addAdmin(c)
	return c
}

// clusterStatus puts together what the nodes say; without their admin listeners, what
// the protocol tells.
func (a *app) clusterStatus(ctx context.Context) (*clusterView, error) {
	pages, missing := a.clusterPages(ctx)
	if len(pages) == 0 {
		return a.protocolStatus(ctx, missing)
	}
	best := 0 // the controller's page, or the newest
	for i := range pages {
		if pages[i].Raft.State == "leader" || pages[best].Raft.State != "leader" && pages[i].Index > pages[best].Index {
			best = i
		}
	}
	p := &pages[best]
	v := &clusterView{ClusterID: p.ClusterID, Controller: p.Raft.Leader, Term: p.Raft.Term, Partitions: p.Partitions, Nodes: []nodeView{}}
	for _, n := range p.Nodes {
		node := nodeView{ClusterNode: n}
		for i := range pages {
			if pages[i].Broker == n.ID {
				node.Raft, node.Index = &pages[i].Raft, pages[i].Index
			}
		}
		v.Nodes = append(v.Nodes, node)
	}
	if missing != nil {
		v.NotKnown = "what these say of themselves: " + missing.Error()
	}
	return v, nil
}

// protocolStatus is the status by Kafka's protocol alone.
func (a *app) protocolStatus(ctx context.Context, missing error) (*clusterView, error) {
	v := &clusterView{Nodes: []nodeView{}}
	err := a.withAdmin(func(admin *kadm.Client) error {
		m, err := admin.Metadata(ctx)
		if err != nil {
			return err
		}
		v.ClusterID, v.Controller = m.Cluster, m.Controller
		for _, b := range m.Brokers {
			n := broker.ClusterNode{ID: b.NodeID, State: "active", HeartbeatAgeMS: -1,
				Listeners: []broker.ClusterListener{{Host: b.Host, Port: b.Port}}}
			if b.Rack != nil {
				n.Rack = *b.Rack
			}
			v.Nodes = append(v.Nodes, nodeView{ClusterNode: n})
		}
		v.count(m.Topics)
		return nil
	})
	if err != nil && errors.Is(missing, errNoPage) && len(a.listeners) > 0 {
		err = errors.Join(err, missing)
	}
	v.NotKnown = fmt.Sprintf("who decides, fenced nodes and partitions below min.insync.replicas: %v", missing)
	return v, err
}

// count counts partitions, and what nodes lead and hold.
func (v *clusterView) count(topics kadm.TopicDetails) {
	nodes := map[int32]*nodeView{}
	for i := range v.Nodes {
		nodes[v.Nodes[i].ID] = &v.Nodes[i]
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			v.Partitions.Total++
			if p.Leader < 0 {
				v.Partitions.Offline++
			}
			if len(p.ISR) < len(p.Replicas) {
				v.Partitions.UnderReplicated++
			}
			if n := nodes[p.Leader]; n != nil {
				n.Leaders++
			}
			for i, id := range p.Replicas {
				if n := nodes[id]; n != nil {
					n.Replicas++
					if i == 0 {
						n.Preferred++
					}
				}
			}
		}
	}
}

// print prints a line about the whole and a table of the nodes.
func (v *clusterView) print(w writer) error {
	controller := "no controller: nothing can be decided"
	if v.Controller >= 0 {
		controller = fmt.Sprintf("controller %d", v.Controller)
	}
	fmt.Fprintf(w, "cluster %s: %s, %s\n", v.ClusterID, counted(len(v.Nodes), "node"), controller)
	fmt.Fprintln(w, partitionsLine(&v.Partitions))
	rows := [][]string{}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		rows = append(rows, []string{strconv.Itoa(int(n.ID)), stateText(&n.ClusterNode), n.control(v), dash(n.Rack), dash(clients(&n.ClusterNode)),
			fmt.Sprintf("%d/%d", n.Leaders, n.Preferred), strconv.Itoa(n.Replicas)})
	}
	err := output.Table(w, []string{"NODE", "STATE", "CONTROL", "RACK", "CLIENTS", "LEADS", "REPLICAS"}, rows)
	if v.NotKnown != "" {
		fmt.Fprintln(w, "not known:", v.NotKnown)
	}
	return err
}

// stateText is how a node is.
func stateText(n *broker.ClusterNode) string {
	if n.Full {
		return n.State + ", full"
	}
	return n.State
}

// control is a node's part in deciding.
func (n *nodeView) control(v *clusterView) string {
	var part string
	switch {
	case n.ID == v.Controller:
		part = "leader"
	case n.Voter:
		part = "voter"
	case n.Raft == nil && v.Term == 0:
		return "-"
	default:
		part = "observer"
	}
	newest := uint64(0)
	for i := range v.Nodes {
		newest = max(newest, v.Nodes[i].Index)
	}
	if n.Raft != nil && newest > n.Index {
		part += fmt.Sprintf(", %d behind", newest-n.Index)
	}
	return part
}

// partitionsLine is how partitions are, in one line.
func partitionsLine(c *broker.ClusterPartitions) string {
	var wrong []string
	for _, what := range []struct {
		n    int
		text string
	}{
		{c.Offline, "offline"}, {c.UnderMinISR, "below min.insync.replicas"}, {c.UnderReplicated, "under-replicated"}, {c.Reassigning, "being moved"},
	} {
		if what.n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d %s", what.n, what.text))
		}
	}
	if len(wrong) == 0 {
		return counted(c.Total, "partition") + ", all in sync"
	}
	return counted(c.Total, "partition") + ": " + strings.Join(wrong, ", ")
}
