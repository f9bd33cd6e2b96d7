package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
)

// runKafkaGo takes part generation by generation.
func (m membership) runKafkaGo(ctx context.Context) error {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: m.group, Brokers: []string{m.addr}, Topics: []string{m.topic},
		SessionTimeout: sessionTimeout, HeartbeatInterval: heartbeatInterval, RebalanceTimeout: 10 * time.Second,
		JoinGroupBackoff: retryDelay, StartOffset: kafka.FirstOffset})
	if err != nil {
		return err
	}
	for {
		gen, err := group.Next(ctx)
		if ctx.Err() != nil {
			return group.Close()
		}
		if err != nil {
			m.out.failed(err)
			sleep(ctx)
			continue
		}
		at := map[int]int64{}
		var owned []int32
		for _, a := range gen.Assignments[m.topic] {
			at[a.ID] = a.Offset
			owned = append(owned, int32(a.ID))
		}
		m.out.owned(gen.ID, owned)
		for partition, offset := range at {
			gen.Start(func(ctx context.Context) { m.readKafkaGo(ctx, gen, partition, offset) })
		}
		gen.Start(func(ctx context.Context) {
			<-ctx.Done()
			m.out.owned(gen.ID, nil)
		})
	}
}

// readKafkaGo reads a partition until its generation ends.
func (m membership) readKafkaGo(ctx context.Context, gen *kafka.Generation, partition int, offset int64) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{m.addr}, Topic: m.topic, Partition: partition, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 500 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(offset); err != nil {
		m.out.failed(err)
		return
	}
	next, committed := offset, offset
	commit := func() {
		if next == committed {
			return
		}
		if err := gen.CommitOffsets(map[string]map[int]int64{m.topic: {partition: next}}); err != nil {
			m.out.failed(err)
			return
		}
		committed = next
	}
	for {
		// A quiet partition is committed too.
		quiet, cancel := context.WithTimeout(ctx, time.Second)
		msg, err := r.ReadMessage(quiet)
		cancel()
		switch {
		case ctx.Err() != nil:
			commit()
			return
		case errors.Is(err, context.DeadlineExceeded):
			commit()
		case err != nil:
			m.out.failed(err)
			sleep(ctx)
		default:
			m.out.record(int32(partition), msg.Offset, msg.Key)
			if next = msg.Offset + 1; next-committed >= commitEvery {
				commit()
			}
		}
	}
}
