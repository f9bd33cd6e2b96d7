package main

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// autoCommitInterval is how often sarama commits what is marked.
const autoCommitInterval = 300 * time.Millisecond

// runSarama joins again and again, because each rebalance ends a session.
func (m membership) runSarama(ctx context.Context) error {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = autoCommitInterval
	c.Consumer.Group.Session.Timeout = sessionTimeout
	c.Consumer.Group.Heartbeat.Interval = heartbeatInterval
	c.Consumer.Return.Errors = true
	group, err := sarama.NewConsumerGroup([]string{m.addr}, m.group, c)
	if err != nil {
		return err
	}
	go func() {
		for err := range group.Errors() {
			m.out.failed(err)
		}
	}()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{m.topic}, saramaHandler{m}); err != nil && !errors.Is(err, context.Canceled) {
			m.out.failed(err)
			sleep(ctx)
		}
	}
	return group.Close()
}

// saramaHandler gets sarama's calls; those of one session's partitions come at once.
type saramaHandler struct{ membership }

func (h saramaHandler) Setup(s sarama.ConsumerGroupSession) error {
	h.out.owned(s.GenerationID(), s.Claims()[h.topic])
	return nil
}

func (h saramaHandler) Cleanup(s sarama.ConsumerGroupSession) error {
	h.out.owned(s.GenerationID(), nil)
	return nil
}

func (h saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for r := range claim.Messages() {
		h.out.record(r.Partition, r.Offset, r.Key)
		s.MarkMessage(r, "")
	}
	return nil
}
