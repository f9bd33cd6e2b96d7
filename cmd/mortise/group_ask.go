package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// The types of groups that have members and offsets of topics. Brokers before the
// types name none: theirs are classic.
const (
	typeClassic  = "classic"
	typeConsumer = "consumer"
)

// memberClassic is the type of a member of a consumer group that speaks the classic
// protocol (ConsumerGroupDescribe version 1).
const memberClassic = 0

// groups describes groups; without names all that are classic or consumer groups.
func (a *app) groups(ctx context.Context, names []string) ([]groupView, error) {
	admin, done, err := a.admin()
	if err != nil {
		return nil, err
	}
	defer done()
	classic, consumer, err := byType(ctx, admin, names)
	if err != nil {
		return nil, err
	}
	views, err := classicGroups(ctx, admin, classic)
	if err != nil {
		return nil, err
	}
	more, err := consumerGroups(ctx, admin, consumer)
	if err != nil {
		return nil, err
	}
	views = append(views, more...)
	slices.SortFunc(views, func(a, b groupView) int { return cmp.Compare(a.Name, b.Name) })
	return views, nil
}

// byType tells groups of one protocol from those of the other; without names all. A
// name that the cluster does not list is an error.
func byType(ctx context.Context, admin *kadm.Client, names []string) (classic, consumer []string, err error) {
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, nil, err
	}
	asked := len(names) > 0
	if !asked {
		names = listed.Groups()
	}
	for _, name := range names {
		g, ok := listed[name]
		switch {
		case !ok:
			return nil, nil, fmt.Errorf("group %s: there is no such group", name)
		case g.GroupType == "" || g.GroupType == typeClassic:
			classic = append(classic, name)
		case g.GroupType == typeConsumer:
			consumer = append(consumer, name)
		case asked:
			return nil, nil, fmt.Errorf("group %s is a %s group, which this command does not know", name, g.GroupType)
		}
	}
	return classic, consumer, nil
}

// describeListed describes one group that was listed.
func describeListed(ctx context.Context, admin *kadm.Client, g kadm.ListedGroup) ([]groupView, error) {
	if g.GroupType == typeConsumer {
		return consumerGroups(ctx, admin, []string{g.Group})
	}
	return classicGroups(ctx, admin, []string{g.Group})
}

// classicGroups describes groups of the classic protocol.
func classicGroups(ctx context.Context, admin *kadm.Client, names []string) ([]groupView, error) {
	views := []groupView{}
	if len(names) == 0 {
		return views, nil
	}
	all, err := admin.Lag(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, g := range all.Sorted() {
		if err := cmp.Or(g.DescribeErr, g.FetchErr); err != nil {
			return nil, fmt.Errorf("group %s: %w", g.Group, err)
		}
		views = append(views, viewClassic(&g))
	}
	return views, nil
}

// viewClassic is a classic group as it is printed.
func viewClassic(g *kadm.DescribedGroupLag) groupView {
	v := groupView{Name: g.Group, State: g.State, Type: typeClassic, ProtocolType: g.ProtocolType, Protocol: g.Protocol, Epoch: -1, AssignmentEpoch: -1,
		Coordinator: g.Coordinator.NodeID, Members: []groupMemberView{}, Offsets: []groupOffsetView{}}
	for _, m := range g.Members {
		member := groupMemberView{ID: m.MemberID, Instance: text(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost,
			Protocol: typeClassic, Epoch: -1, Assigned: assignmentView{}}
		if wants, ok := m.Join.AsConsumer(); ok {
			member.Subscribed = wants.Topics
		}
		if has, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range has.Topics {
				member.Assigned[t.Topic] = slices.Sorted(slices.Values(t.Partitions))
			}
		}
		v.Members = append(v.Members, member)
	}
	for _, l := range g.Lag.Sorted() {
		o := groupOffsetView{Topic: l.Topic, Partition: l.Partition, Committed: l.Commit.At, End: l.End.Offset, Lag: l.Lag}
		if l.Member != nil {
			o.Member = l.Member.MemberID
		}
		v.addOffset(o, l.Err)
	}
	return v
}

// addOffset adds how far the group is in a partition, or why that is not known.
func (v *groupView) addOffset(o groupOffsetView, err error) {
	if err != nil {
		o.Error, o.Lag, o.End = kerrName(err), -1, -1
	}
	v.Lag += max(o.Lag, 0)
	v.Offsets = append(v.Offsets, o)
}

// consumerGroups describes groups of the protocol of KIP-848.
func consumerGroups(ctx context.Context, admin *kadm.Client, names []string) ([]groupView, error) {
	if len(names) == 0 {
		return nil, nil
	}
	described, err := admin.DescribeConsumerGroups(ctx, names...)
	if err != nil {
		return nil, err
	}
	fetched := admin.FetchManyOffsets(ctx, names...)
	wanted := described.AssignedPartitions()
	for name, f := range fetched {
		if err := cmp.Or(described[name].Err, f.Err); err != nil {
			return nil, fmt.Errorf("group %s: %w", name, err)
		}
		for topic, partitions := range f.Fetched {
			for n := range partitions {
				wanted.Add(topic, n)
			}
		}
	}
	b, err := listBounds(ctx, admin, wanted.Topics())
	if err != nil {
		return nil, err
	}
	var views []groupView
	for _, name := range described.Names() {
		g := described[name]
		views = append(views, viewConsumer(&g, fetched[name].Fetched, b))
	}
	return views, nil
}

// viewConsumer is a consumer group as it is printed.
func viewConsumer(g *kadm.DescribedConsumerGroup, committed kadm.OffsetResponses, b *bounds) groupView {
	v := groupView{Name: g.Group, State: g.State, Type: typeConsumer, ProtocolType: typeConsumer, Protocol: g.AssignorName, Epoch: g.Epoch, AssignmentEpoch: g.AssignmentEpoch,
		Coordinator: g.Coordinator.NodeID, Members: []groupMemberView{}, Offsets: []groupOffsetView{}}
	owners := map[string]map[int32]string{} // of every partition that somebody has or that has an offset
	for topic, partitions := range committed {
		owners[topic] = map[int32]string{}
		for n := range partitions {
			owners[topic][n] = ""
		}
	}
	for _, m := range g.Members {
		member := groupMemberView{ID: m.MemberID, Instance: text(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost, Rack: text(m.RackID),
			Protocol: typeConsumer, Epoch: m.MemberEpoch, Subscribed: m.SubscribedTopics, Regex: text(m.SubscribedTopicRegex), Assigned: viewAssignment(m.Assignment)}
		if m.MemberType == memberClassic {
			member.Protocol = typeClassic
		}
		if target := viewAssignment(m.TargetAssignment); target.String() != member.Assigned.String() {
			member.Target = target
		}
		v.Members = append(v.Members, member)
		m.Assignment.Each(func(topic string, n int32) {
			if owners[topic] == nil {
				owners[topic] = map[int32]string{}
			}
			owners[topic][n] = m.MemberID
		})
	}
	for topic, partitions := range owners {
		for n, owner := range partitions {
			o := groupOffsetView{Topic: topic, Partition: n, Committed: -1, Member: owner}
			if c, ok := committed.Lookup(topic, n); ok {
				o.Committed = c.At
			}
			v.addOffset(b.lag(o))
		}
	}
	slices.SortFunc(v.Offsets, func(a, b groupOffsetView) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return v
}

// viewAssignment is an assignment as it is printed.
func viewAssignment(s kadm.TopicsSet) assignmentView {
	v := assignmentView{}
	for topic, partitions := range s {
		for n := range partitions {
			v[topic] = append(v[topic], n)
		}
		slices.Sort(v[topic])
	}
	return v
}

// bounds are where partitions start and end.
type bounds struct{ starts, ends kadm.ListedOffsets }

// listBounds asks where the partitions of topics start and end.
func listBounds(ctx context.Context, admin *kadm.Client, topics []string) (*bounds, error) {
	b := &bounds{}
	if len(topics) == 0 {
		return b, nil // asked for no topic, a cluster gives all
	}
	var errs [2]error
	b.starts, errs[0] = admin.ListStartOffsets(ctx, topics...)
	b.ends, errs[1] = admin.ListEndOffsets(ctx, topics...)
	return b, errors.Join(errs[:]...)
}

// lag adds the end and the lag to how far a group is. Where nothing is committed, all
// that there is counts.
func (b *bounds) lag(o groupOffsetView) (groupOffsetView, error) {
	start, _ := b.starts.Lookup(o.Topic, o.Partition)
	end, ok := b.ends.Lookup(o.Topic, o.Partition)
	switch {
	case !ok:
		return o, kerr.UnknownTopicOrPartition
	case cmp.Or(end.Err, start.Err) != nil:
		return o, cmp.Or(end.Err, start.Err)
	}
	o.End = end.Offset
	from := o.Committed
	if from < 0 {
		from = start.Offset
	}
	o.Lag = max(o.End-from, 0)
	return o, nil
}

// text is a text that may be missing.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
