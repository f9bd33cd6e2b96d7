package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/kafka"
)

type writer = io.Writer

// topicView is a topic as it is printed.
type topicView struct {
	Name       string          `json:"name"`
	ID         string          `json:"id"`
	Internal   bool            `json:"internal,omitempty"`
	Configs    []configView    `json:"configs,omitempty"` // that differ from the default
	Partitions []partitionView `json:"partitions"`
	// Groups are those that have committed offsets of the topic, the farthest behind
	// first.
	Groups []topicGroupView `json:"groups"`
	// NotKnown says what could not be found out, and why; empty: nothing.
	NotKnown string `json:"not_known,omitempty"`
}

type configView struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

type partitionView struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leader_epoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	ELR         []int32 `json:"elr,omitempty"` // eligible leader replicas
	StartOffset int64   `json:"start_offset"`
	EndOffset   int64   `json:"end_offset"`
	Bytes       int64   `json:"bytes"` // -1: not known
	// Segments, LogDir and Cleaner come from the admin listener of the leader. Nil
	// and empty: it did not answer, or for Cleaner that the topic is not compacted.
	Segments *int         `json:"segments"`
	LogDir   string       `json:"log_dir,omitempty"`
	Cleaner  *cleanerView `json:"cleaner,omitempty"`
	Error    string       `json:"error,omitempty"`
}

func topicDescribeCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "describe NAME…",
		Short: "Show a topic's configs, partitions, and the groups that are behind",
		Long: `Show a topic's configs; by partition leader, replicas, offsets, size, segments and
how far compaction has come; and the groups that are behind.

Segments and compaction are not in Kafka's protocol: they are asked of the admin
listeners of the brokers, and when those can't be reached the rest is shown.`,
		Example: `  mortise topic describe orders
  mortise topic describe orders -o json
  mortise topic describe orders --brokers broker1.example.com:9092 --admin broker1.example.com:9644`,
		Args: cobra.MinimumNArgs(1),

		ValidArgsFunction: a.completeTopics(anyNumber, false),
		RunE: func(c *cobra.Command, names []string) error {
			admin, done, err := a.admin()
			if err != nil {
				return err
			}
			defer done()
			details, err := admin.ListTopicsWithInternal(c.Context(), names...)
			if err != nil {
				return err
			}
			found, missing := known(details)
			views, err := a.describeTopics(c.Context(), admin, found)
			if err != nil {
				return err
			}
			return errors.Join(a.printer().Value(views, func(w writer) error {
				for _, v := range views {
					if err := errors.Join(v.print(w), v.printInside(w)); err != nil {
						return err
					}
				}
				return nil
			}), missing)
		},
	}
	a.addAdmin(c)
	return c
}

// known splits topics into those that can be described and the errors of the
// others.
func known(details kadm.TopicDetails) (found kadm.TopicDetails, missing error) {
	found = kadm.TopicDetails{}
	var errs []error
	for _, t := range details.Sorted() {
		if t.Err != nil {
			errs = append(errs, fmt.Errorf("topic %s: %w", t.Topic, t.Err))
			continue
		}
		found[t.Topic] = t
	}
	return found, errors.Join(errs...)
}

// describeTopics asks for everything that is known of the topics.
func (a *app) describeTopics(ctx context.Context, admin *kadm.Client, details kadm.TopicDetails) ([]topicView, error) {
	if len(details) == 0 {
		return []topicView{}, nil // asked for no name, a cluster gives all
	}
	names := details.Names()
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, names...)
	if err != nil {
		return nil, err
	}
	sizes, err := admin.DescribeAllLogDirs(ctx, details.TopicsSet())
	// Who may describe a topic need not see the brokers' disks, and a follower may be gone.
	if err != nil && !errors.Is(err, kerr.ClusterAuthorizationFailed) && len(sizes) == 0 {
		return nil, err
	}
	configs, err := admin.DescribeTopicConfigs(ctx, names...)
	noConfigs := errors.Is(err, kerr.TopicAuthorizationFailed)
	if err != nil && !noConfigs {
		return nil, err
	}
	eligible, err := a.eligibleReplicas(ctx, names)
	if err != nil {
		return nil, err
	}
	groups, err := topicGroups(ctx, admin, ends)
	if err != nil {
		return nil, err
	}
	brokers, err := listenersOf(ctx, admin)
	if err != nil {
		return nil, err
	}
	var views []topicView
	for _, t := range details.Sorted() {
		v := topicView{Name: t.Topic, ID: kafka.TopicID(t.ID).String(), Internal: t.IsInternal, Configs: changedConfigs(configs, t.Topic),
			Groups: append([]topicGroupView{}, groups[t.Topic]...)}
		for _, p := range t.Partitions.Sorted() {
			view := partitionView{Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR,
				ELR: eligible[t.Topic][p.Partition]}
			start, _ := starts.Lookup(t.Topic, p.Partition)
			end, _ := ends.Lookup(t.Topic, p.Partition)
			view.StartOffset, view.EndOffset = start.Offset, end.Offset
			if err := cmp.Or(p.Err, start.Err, end.Err); err != nil {
				view.Error = kerrName(err)
			}
			view.Bytes = leaderSize(sizes, p)
			v.Partitions = append(v.Partitions, view)
		}
		a.lookInside(ctx, &v, brokers)
		if noConfigs {
			v.NotKnown = strings.TrimPrefix(v.NotKnown+"; configs are not known: that needs the operation describe-configs", "; ")
		}
		views = append(views, v)
	}
	return views, nil
}

// changedConfigs are the configs of a topic that somebody has set.
func changedConfigs(configs kadm.ResourceConfigs, topic string) []configView {
	var views []configView
	for _, r := range configs {
		if r.Name != topic {
			continue
		}
		for _, c := range r.Configs {
			if c.Source != kmsg.ConfigSourceDefaultConfig {
				views = append(views, configView{c.Key, c.MaybeValue(), c.Source.String()})
			}
		}
	}
	slices.SortFunc(views, func(a, b configView) int { return cmp.Compare(a.Key, b.Key) })
	return views
}

// leaderSize is what the partition takes on its leader's disk; -1: not known.
func leaderSize(sizes kadm.DescribedAllLogDirs, p kadm.PartitionDetail) int64 {
	for _, dir := range sizes[p.Leader] {
		if found, ok := dir.Topics.Lookup(p.Topic, p.Partition); ok {
			return found.Size
		}
	}
	return -1
}

// sizeOf is a size for people.
func sizeOf(n int64) string {
	if n < 0 {
		return "-"
	}
	return output.Bytes(n)
}

func (v topicView) print(w writer) error {
	fmt.Fprintf(w, "%s  id %s\n", v.Name, v.ID)
	for _, c := range v.Configs {
		fmt.Fprintf(w, "  %s=%s (%s)\n", c.Key, c.Value, strings.ToLower(strings.ReplaceAll(c.Source, "_", " ")))
	}
	rows := [][]string{}
	for _, p := range v.Partitions {
		rows = append(rows, []string{
			fmt.Sprint(p.Partition), fmt.Sprint(p.Leader), fmt.Sprint(p.LeaderEpoch), ids(p.Replicas), p.inSync(),
			fmt.Sprint(p.StartOffset), fmt.Sprint(p.EndOffset), sizeOf(p.Bytes), segments(p.Segments), p.Cleaner.String(), p.Error,
		})
	}
	return output.Table(w, []string{"PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END", "SIZE", "SEGMENTS", "CLEANED", ""}, rows)
}

// inSync are the replicas in sync for people, with those that may lead although they are
// not.
func (p *partitionView) inSync() string {
	text := dash(ids(p.ISR))
	if len(p.ELR) > 0 {
		text += " (eligible " + ids(p.ELR) + ")"
	}
	return text
}

// segments is a number of segments for people.
func segments(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

func ids(list []int32) string {
	parts := make([]string, len(list))
	for i, id := range list {
		parts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(parts, ",")
}
