package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// CheckPartition returns an error at once if no broker answers or if the topic lacks
// the partition (-1: any will do). A topic that does not exist yet may be made when
// the first record comes, and passes.
func CheckPartition(ctx context.Context, client *kgo.Client, topic string, partition int32) error {
	topics, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	t := topics[topic]
	switch {
	case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		return nil
	case t.Err != nil:
		return fmt.Errorf("topic %s: %w", topic, t.Err)
	case int(partition) >= len(t.Partitions):
		return fmt.Errorf("topic %s has no partition %d: it has %d, from 0", topic, partition, len(t.Partitions))
	}
	return nil
}
