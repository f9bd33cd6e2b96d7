package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

func clusterMembersCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "members",
		Short: "Show where the nodes of a cluster are and how they see each other; or remove one for good",
		Long: `Show where the nodes of a cluster are and how they see each other: the addresses for
clients, for other nodes and for people, what gossip says (alive, suspect, dead, left),
and how long ago the controller heard of each.

A node that is gone stays a member, since it may come back; remove takes it out for
good.`,
		Example: `  mortise cluster members
  mortise cluster members -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := a.clusterStatus(c.Context())
			if err != nil {
				return err
			}
			return a.printer().Value(v, v.printMembers)
		},
	}
	a.addBrokers(c)
	a.addAdmin(c)
	c.AddCommand(clusterRemoveCommand(a))
	return c
}

// printMembers prints a table of the nodes and their addresses.
func (v *clusterView) printMembers(w writer) error {
	rows := [][]string{}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		heard := "-"
		if n.HeartbeatAgeMS >= 0 && v.Term > 0 {
			heard = (time.Duration(n.HeartbeatAgeMS) * time.Millisecond).Round(100 * time.Millisecond).String()
		}
		rows = append(rows, []string{strconv.Itoa(int(n.ID)), stateText(&n.ClusterNode), dash(clients(&n.ClusterNode)), dash(n.Peer), dash(n.Admin), dash(n.Rack), dash(n.Gossip), heard})
	}
	err := output.Table(w, []string{"NODE", "STATE", "CLIENTS", "PEER", "ADMIN", "RACK", "GOSSIP", "HEARD"}, rows)
	if v.NotKnown != "" {
		fmt.Fprintln(w, "not known:", v.NotKnown)
	}
	return err
}

func clusterRemoveCommand(a *app) *cobra.Command {
	return a.aboutNode(&cobra.Command{
		Use:   "remove NODE",
		Short: "Take a node that is gone for good out of the cluster",
		Long: `Take a node that is gone for good out of the cluster. It is refused while partitions
have replicas there: mortise cluster reassign --away NODE --execute moves them first. A
node that still runs registers again at its next start: stop it before.`,
		Example: `  mortise cluster members remove 4`,
	}, func(ctx context.Context, id int32) error {
		return a.withAdmin(func(admin *kadm.Client) error { return a.removeNode(ctx, admin, id) })
	})
}

// removeNode unregisters a node that holds nothing.
func (a *app) removeNode(ctx context.Context, admin *kadm.Client, id int32) error {
	topics, err := admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	if held := heldBy(topics, id); len(held) > 0 {
		return fmt.Errorf("node %d has replicas of %s, %s first: mortise cluster reassign --away %d --execute moves them",
			id, counted(len(held), "partition"), held[0].name(), id)
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	defer client.Close()
	q := kmsg.NewPtrUnregisterBrokerRequest()
	q.BrokerID = id
	r, err := q.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if err := refusal(r.ErrorCode, r.ErrorMessage); err != nil {
		return fmt.Errorf("node %d: %w", id, err)
	}
	result := struct {
		Removed int32 `json:"removed"`
	}{id}
	return a.printer().Value(result, func(w writer) error {
		_, err := fmt.Fprintf(w, "node %d is out of the cluster\n", id)
		return err
	})
}

// refusal is the error that a broker answered, with its words if it has any; nil: none.
func refusal(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err == nil || message == nil || *message == "" {
		return err
	}
	return errors.New(kerrName(err) + ": " + *message)
}

// heldPartition is a partition with a replica on a node.
type heldPartition struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Leader    int32   `json:"leader"`
	Replicas  []int32 `json:"replicas"`
	ISR       []int32 `json:"isr"`
}

// name is the partition as people write it.
func (p *heldPartition) name() string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }

// heldBy are the partitions with a replica on a node, by name and number.
func heldBy(topics kadm.TopicDetails, id int32) (held []heldPartition) {
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			for _, r := range p.Replicas {
				if r == id {
					held = append(held, heldPartition{p.Topic, p.Partition, p.Leader, p.Replicas, p.ISR})
				}
			}
		}
	}
	return held
}
