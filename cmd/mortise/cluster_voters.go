package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// quorumTopic is the name under which Kafka's protocol knows the log of decisions.
const quorumTopic = "__cluster_metadata"

// quorumView is who decides, as it is printed.
type quorumView struct {
	ClusterID     string      `json:"cluster_id"`
	Leader        int32       `json:"leader"`
	LeaderEpoch   int32       `json:"leader_epoch"`
	HighWatermark int64       `json:"high_watermark"`
	Replicas      []voterView `json:"replicas"`
}

// voterView is one copy of the log of decisions.
type voterView struct {
	Node  int32 `json:"node"`
	Voter bool  `json:"voter"`
	End   int64 `json:"log_end_offset"`
	// Behind is how many decisions are missing.
	Behind int64 `json:"behind"`

	directory [16]byte
}

func clusterVotersCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "voters",
		Short: "Show which nodes decide; or add or remove one",
		Long: `Show which nodes decide. Decisions about topics, leaders and nodes need more than half
of the voters; the others, observers, only follow them. One voter decides in a cluster
below 3 nodes, 3 below 5, else 5, spread over racks, and a voter that is gone for long
is replaced: the cluster sees to that by itself unless cluster.voters says otherwise, and
then it comes back to that number after add and remove too.`,
		Example: `  mortise cluster voters
  mortise cluster voters -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			defer client.Close()
			v, err := askQuorum(c.Context(), client)
			if err != nil {
				return err
			}
			return a.printer().Value(v, v.print)
		},
	}
	a.addBrokers(c)
	c.AddCommand(
		voterCommand(a, "add", "Let a node decide that only followed so far", true),
		voterCommand(a, "remove", "Let a node only follow that decided so far", false))
	return c
}

// voterCommand makes a node a voter, or an observer.
func voterCommand(a *app, use, short string, voter bool) *cobra.Command {
	return a.aboutNode(&cobra.Command{
		Use:     use + " NODE",
		Short:   short,
		Example: "  mortise cluster voters " + use + " 3",
	}, func(ctx context.Context, id int32) error {
		client, err := a.client()
		if err != nil {
			return err
		}
		defer client.Close()
		v, err := askQuorum(ctx, client)
		if err != nil {
			return err
		}
		if err := v.change(ctx, client, id, voter); err != nil {
			return fmt.Errorf("node %d: %w", id, err)
		}
		if v, err = askQuorum(ctx, client); err != nil {
			return err
		}
		return a.printer().Value(v, v.print)
	})
}

// askQuorum asks who decides.
func askQuorum(ctx context.Context, client *kgo.Client) (*quorumView, error) {
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{}
	m, err := meta.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	q := kmsg.NewPtrDescribeQuorumRequest()
	topic, partition := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
	topic.Topic, topic.Partitions = quorumTopic, append(topic.Partitions, partition)
	q.Topics = append(q.Topics, topic)
	r, err := q.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := refusal(r.ErrorCode, r.ErrorMessage); err != nil {
		return nil, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("the answer tells of %d topics, want 1", len(r.Topics))
	}
	p := &r.Topics[0].Partitions[0]
	if err := refusal(p.ErrorCode, p.ErrorMessage); err != nil {
		return nil, err
	}
	v := &quorumView{Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HighWatermark: p.HighWatermark, Replicas: []voterView{}}
	if m.ClusterID != nil {
		v.ClusterID = *m.ClusterID
	}
	v.addReplicas(p.CurrentVoters, true)
	v.addReplicas(p.Observers, false)
	slices.SortFunc(v.Replicas, func(a, b voterView) int { return int(a.Node) - int(b.Node) })
	return v, nil
}

// addReplicas takes over what the answer tells of voters or observers.
func (v *quorumView) addReplicas(all []kmsg.DescribeQuorumResponseTopicPartitionReplicaState, voter bool) {
	for _, r := range all {
		v.Replicas = append(v.Replicas, voterView{Node: r.ReplicaID, Voter: voter, End: r.LogEndOffset,
			Behind: max(0, v.HighWatermark-r.LogEndOffset), directory: r.ReplicaDirectoryID})
	}
}

// find is the node as the answer tells of it.
func (v *quorumView) find(id int32) (*voterView, error) {
	for i := range v.Replicas {
		if v.Replicas[i].Node == id {
			return &v.Replicas[i], nil
		}
	}
	return nil, errors.New("it is no node of the cluster")
}

// change makes a node a voter, or an observer, unless it is one.
func (v *quorumView) change(ctx context.Context, client *kgo.Client, id int32, voter bool) error {
	n, err := v.find(id)
	if err != nil || n.Voter == voter {
		return err
	}
	if voter {
		q := kmsg.NewPtrAddRaftVoterRequest()
		q.ClusterID, q.VoterID, q.VoterDirectoryID = &v.ClusterID, id, n.directory
		r, err := q.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		return refusal(r.ErrorCode, r.ErrorMessage)
	}
	q := kmsg.NewPtrRemoveRaftVoterRequest()
	q.ClusterID, q.VoterID, q.VoterDirectoryID = &v.ClusterID, id, n.directory
	r, err := q.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return refusal(r.ErrorCode, r.ErrorMessage)
}

// print prints a line about the whole and a table.
func (v *quorumView) print(w writer) error {
	if v.Leader < 0 {
		fmt.Fprintln(w, "no leader: nothing can be decided")
	} else {
		fmt.Fprintf(w, "leader %d, epoch %d, %d decisions\n", v.Leader, v.LeaderEpoch, v.HighWatermark)
	}
	rows := [][]string{}
	for i := range v.Replicas {
		r := &v.Replicas[i]
		part, behind := "observer", strconv.FormatInt(r.Behind, 10)
		switch {
		case r.Node == v.Leader:
			part = "leader"
		case r.Voter:
			part = "voter"
		}
		if r.End < 0 {
			behind = "-"
		}
		rows = append(rows, []string{strconv.Itoa(int(r.Node)), part, behind})
	}
	return output.Table(w, []string{"NODE", "PART", "BEHIND"}, rows)
}
