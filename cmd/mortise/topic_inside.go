package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
)

// topicGroupsShown is how many groups a person is shown of a topic; JSON has all.
const topicGroupsShown = 20

// topicGroupView is how far a group is behind in a topic.
type topicGroupView struct {
	Group      string `json:"group"`
	Partitions int    `json:"partitions"` // with a committed offset
	Lag        int64  `json:"lag"`
}

// cleanerView is what the compaction of a partition has come to on its leader.
type cleanerView struct {
	CleanedTo  int64  `json:"cleaned_to"` // -1: never was compacted
	DirtyBytes int64  `json:"dirty_bytes"`
	Failed     string `json:"failed,omitempty"` // why it is left alone
}

// String is the state for people.
func (c *cleanerView) String() string {
	switch {
	case c == nil:
		return "-"
	case c.Failed != "":
		return "failed"
	}
	return "to " + number(c.CleanedTo) + ", " + output.Bytes(c.DirtyBytes) + " to do"
}

// lookInside adds what only admin listeners know. What is not known says so.
func (a *app) lookInside(ctx context.Context, v *topicView, brokers kadm.BrokerDetails) {
	pages, missing := askListeners(ctx, a.adminListeners(brokers), "/v1/topics/"+v.Name,
		func(t *broker.TopicReport) bool { return t.TopicID == v.ID })
	known := 0
	for i := range pages {
		for _, inside := range pages[i].Partitions {
			at := slices.IndexFunc(v.Partitions, func(p partitionView) bool {
				return p.Partition == inside.Partition && p.Leader == pages[i].Broker
			})
			if at < 0 {
				continue // a follower's copy
			}
			known++
			p := &v.Partitions[at]
			p.Segments, p.LogDir = &inside.Segments, inside.LogDir
			p.Error = cmp.Or(p.Error, inside.Offline)
			if p.Bytes < 0 {
				p.Bytes = inside.SizeBytes
			}
			if c := inside.Cleaner; c != nil {
				p.Cleaner = &cleanerView{CleanedTo: c.CleanedTo, DirtyBytes: c.DirtyBytes, Failed: c.Failed}
			}
		}
	}
	if known < len(v.Partitions) {
		v.NotKnown = fmt.Sprintf("segments and cleaning of %d of %d partitions are not known", len(v.Partitions)-known, len(v.Partitions))
		if missing != nil {
			v.NotKnown += ": no answer from " + missing.Error()
		}
	}
}

// topicGroups finds out how far groups are behind in topics, the farthest first.
func topicGroups(ctx context.Context, admin *kadm.Client, ends kadm.ListedOffsets) (map[string][]topicGroupView, error) {
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	views := map[string][]topicGroupView{}
	names := listed.Groups()
	if len(names) == 0 {
		return views, nil
	}
	var errs []error
	for _, g := range admin.FetchManyOffsets(ctx, names...) {
		if g.Err != nil {
			errs = append(errs, fmt.Errorf("offsets of group %s: %w", g.Group, g.Err))
			continue
		}
		for topic, partitions := range g.Fetched {
			if _, asked := ends[topic]; asked {
				views[topic] = append(views[topic], topicGroup(g.Group, topic, partitions, ends))
			}
		}
	}
	for _, v := range views {
		slices.SortFunc(v, func(a, b topicGroupView) int {
			return cmp.Or(cmp.Compare(b.Lag, a.Lag), cmp.Compare(a.Group, b.Group))
		})
	}
	return views, errors.Join(errs...)
}

// topicGroup adds up how far a group is behind in a topic.
func topicGroup(name, topic string, partitions map[int32]kadm.OffsetResponse, ends kadm.ListedOffsets) topicGroupView {
	v := topicGroupView{Group: name}
	for n, o := range partitions {
		if end, ok := ends.Lookup(topic, n); ok && end.Err == nil && o.Err == nil && o.At >= 0 {
			v.Partitions++
			v.Lag += max(end.Offset-o.At, 0)
		}
	}
	return v
}

// printInside prints what listeners do not know, and who lags.
func (v *topicView) printInside(w writer) error {
	for _, p := range v.Partitions {
		if p.Cleaner != nil && p.Cleaner.Failed != "" {
			fmt.Fprintf(w, "cleaning of partition %d has failed: %s\n", p.Partition, p.Cleaner.Failed)
		}
	}
	if v.NotKnown != "" {
		fmt.Fprintln(w, v.NotKnown)
	}
	var rows [][]string
	behind := 0
	for _, g := range v.Groups {
		if g.Lag == 0 {
			break // they are sorted
		}
		if behind++; behind <= topicGroupsShown {
			rows = append(rows, []string{g.Group, strconv.Itoa(g.Partitions), strconv.FormatInt(g.Lag, 10)})
		}
	}
	switch {
	case len(v.Groups) == 0:
		return nil
	case behind == 0:
		_, err := fmt.Fprintf(w, "no group is behind, of %d with offsets here\n", len(v.Groups))
		return err
	}
	if err := output.Table(w, []string{"GROUP BEHIND", "PARTITIONS", "LAG"}, rows); err != nil {
		return err
	}
	if behind > topicGroupsShown {
		fmt.Fprintf(w, "and %d groups more; -o json has all\n", behind-topicGroupsShown)
	}
	return nil
}

// listenersOf are the brokers of the cluster, whose hosts may have admin listeners.
func listenersOf(ctx context.Context, admin *kadm.Client) (kadm.BrokerDetails, error) {
	m, err := admin.BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	return m.Brokers, nil
}
