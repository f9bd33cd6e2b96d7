package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// eligiblePages bounds the answers that one look takes.
const eligiblePages = 1000

// eligibleReplicas are the eligible leader replicas (KIP-966) of topics: those that left
// the replicas in sync when too few were left, and have all that was acknowledged.
func (a *app) eligibleReplicas(ctx context.Context, names []string) (map[string]map[int32][]int32, error) {
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found := map[string]map[int32][]int32{}
	q := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		q.Topics = append(q.Topics, t)
	}
	for range eligiblePages {
		r, err := q.RequestWith(ctx, client)
		if err != nil {
			return nil, err
		}
		for _, t := range r.Topics {
			if t.Topic == nil {
				continue
			}
			for _, p := range t.Partitions {
				if len(p.EligibleLeaderReplicas) > 0 {
					if found[*t.Topic] == nil {
						found[*t.Topic] = map[int32][]int32{}
					}
					found[*t.Topic][p.Partition] = p.EligibleLeaderReplicas
				}
			}
		}
		if r.NextCursor == nil {
			return found, nil
		}
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic, c.Partition = r.NextCursor.Topic, r.NextCursor.Partition
		q.Cursor = &c
	}
	return found, nil
}
