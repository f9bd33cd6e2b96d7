package main

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// runKgo reads with kgo: the cooperative protocol, or the broker's assignor.
func (m membership) runKgo(ctx context.Context) error {
	owned := map[int32]bool{}
	show := func(cl *kgo.Client) {
		_, generation := cl.GroupMetadata()
		m.out.owned(generation, slices.Collect(maps.Keys(owned)))
	}
	lose := func(cl *kgo.Client, gone map[string][]int32) {
		for _, p := range gone[m.topic] {
			delete(owned, p)
		}
		show(cl)
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(m.addr), kgo.ConsumerGroup(m.group), kgo.ConsumeTopics(m.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.AlwaysRetryEOF(),
		kgo.OnPartitionsAssigned(func(_ context.Context, cl *kgo.Client, more map[string][]int32) {
			for _, p := range more[m.topic] {
				owned[p] = true
			}
			show(cl)
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, gone map[string][]int32) {
			m.commitKgo(ctx, cl)
			lose(cl, gone)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, cl *kgo.Client, gone map[string][]int32) { lose(cl, gone) }),
	}
	if m.consumer {
		opts = append(opts, kgo.ServerSideBalancer())
	} else {
		opts = append(opts, kgo.SessionTimeout(sessionTimeout), kgo.HeartbeatInterval(heartbeatInterval))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fetches := cl.PollRecords(ctx, commitEvery)
		fetches.EachError(func(_ string, _ int32, err error) {
			if ctx.Err() == nil {
				m.out.failed(err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) { m.out.record(r.Partition, r.Offset, r.Key) })
		if !fetches.Empty() {
			m.commitKgo(context.WithoutCancel(ctx), cl)
		}
		cl.AllowRebalance()
	}
	return nil
}

func (m membership) commitKgo(ctx context.Context, cl *kgo.Client) {
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		m.out.failed(err)
	}
}
