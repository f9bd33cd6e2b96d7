package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// watchInterval is how often the broker is asked for committed offsets.
const watchInterval = 50 * time.Millisecond

// watch tells the checker the committed offsets until ctx ends. A broker that is away says nothing.
func watch(ctx context.Context, adm *kadm.Client, group string, c *checker) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		offsets, err := adm.FetchOffsets(ctx, group)
		if err != nil || offsets.Error() != nil {
			continue
		}
		now := map[int32]int64{}
		offsets.Each(func(o kadm.OffsetResponse) { now[o.Partition] = o.At })
		c.commits(now)
	}
}

// assignments are what the broker says that each member of the group owns.
func (p plan) assignments(ctx context.Context, adm *kadm.Client) (string, [][]int32, error) {
	var state string
	var sets [][]int32
	if p.kind == "consumer" {
		described, err := adm.DescribeConsumerGroups(ctx, p.group)
		if err != nil {
			return "", nil, err
		}
		group := described[p.group]
		if group.Err != nil {
			return "", nil, group.Err
		}
		state = group.State
		for _, m := range group.Members {
			has, target := p.partitionsOf(m.Assignment), p.partitionsOf(m.TargetAssignment)
			if !slices.Equal(has, target) {
				return "", nil, fmt.Errorf("member %s has %v, and %v to come", m.MemberID, has, target)
			}
			sets = append(sets, has)
		}
	} else {
		described, err := adm.DescribeGroups(ctx, p.group)
		if err != nil {
			return "", nil, err
		}
		group := described[p.group]
		if group.Err != nil {
			return "", nil, group.Err
		}
		state = group.State
		for _, m := range group.Members {
			assigned, ok := m.Assigned.AsConsumer()
			if !ok {
				return "", nil, fmt.Errorf("member %s has no assignment of a consumer", m.MemberID)
			}
			set := kadm.TopicsSet{}
			for _, t := range assigned.Topics {
				set.Add(t.Topic, t.Partitions...)
			}
			sets = append(sets, p.partitionsOf(set))
		}
	}
	slices.SortFunc(sets, slices.Compare)
	return state, sets, nil
}

func (p plan) partitionsOf(set kadm.TopicsSet) []int32 { return slices.Sorted(maps.Keys(set[p.group])) }

// agrees waits until the broker says of the members what they say of themselves.
func (p plan) agrees(ctx context.Context, adm *kadm.Client, crew *crew) error {
	return crew.await(ctx, "broker and members agree", func(live map[string]bool) error {
		state, broker, err := p.assignments(ctx, adm)
		if err != nil {
			return err
		}
		var own [][]int32
		for name, partitions := range crew.checker.held() {
			if live[name] {
				own = append(own, partitions)
			}
		}
		slices.SortFunc(own, slices.Compare)
		if state != "Stable" || !slices.EqualFunc(own, broker, slices.Equal) {
			return fmt.Errorf("the broker says %v (%s), members %v", broker, state, own)
		}
		return nil
	})
}

// empty wants a group without members.
func (p plan) empty(ctx context.Context, adm *kadm.Client) error {
	state, broker, err := p.assignments(ctx, adm)
	if err != nil {
		return err
	}
	if state != "Empty" || len(broker) != 0 {
		return fmt.Errorf("all have left, but the group is %s with %v", state, broker)
	}
	return nil
}
