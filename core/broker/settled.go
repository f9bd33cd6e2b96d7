package broker

import (
	"context"
	"time"

	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// settleWait bounds how long an answer waits for the roles of this broker. After
// it the change is still made; the client may have to retry.
const settleWait = 5 * time.Second

// applier knows how far the images are in effect here.
type applier interface {
	WaitApplied(ctx context.Context, index uint64) error
}

// settled is a Control whose changes are in effect on this broker when they
// return. Kafka answers before, and its clients retry; without the wait every
// "create, then write" costs a client its retry backoff.
type settled struct {
	meta.Control
	roles applier
	rules *security.Authorizer // nil: nobody goes by rules
}

// wait waits for the roles of the present image. That it took too long is no
// error: the decision stands.
func (s *settled) wait(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, settleWait)
	defer stop()
	s.roles.WaitApplied(ctx, s.Image().Index) //nolint:errcheck // see above
}

// CreateTopics implements meta.Control.
func (s *settled) CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error) {
	r, err := s.Control.CreateTopics(ctx, topics, validateOnly)
	if err == nil && !validateOnly {
		s.wait(ctx)
	}
	return r, err
}

// DeleteTopics implements meta.Control.
func (s *settled) DeleteTopics(ctx context.Context, ids []kafka.TopicID) ([]*kafka.Error, error) {
	r, err := s.Control.DeleteTopics(ctx, ids)
	if err == nil {
		s.wait(ctx)
	}
	return r, err
}

// CreatePartitions implements meta.Control.
func (s *settled) CreatePartitions(ctx context.Context, topics []meta.NewPartitions, validateOnly bool) ([]*kafka.Error, error) {
	r, err := s.Control.CreatePartitions(ctx, topics, validateOnly)
	if err == nil && !validateOnly {
		s.wait(ctx)
	}
	return r, err
}

// AlterConfigs implements meta.Control.
func (s *settled) AlterConfigs(ctx context.Context, changes []meta.ConfigChange, validateOnly bool) ([]*kafka.Error, error) {
	r, err := s.Control.AlterConfigs(ctx, changes, validateOnly)
	if err == nil && !validateOnly {
		s.wait(ctx)
	}
	return r, err
}

// ElectLeaders implements meta.Control.
func (s *settled) ElectLeaders(ctx context.Context, kind meta.ElectionKind, partitions []meta.PartitionID) ([]*kafka.Error, error) {
	r, err := s.Control.ElectLeaders(ctx, kind, partitions)
	if err == nil {
		s.wait(ctx)
	}
	return r, err
}

// AlterReassignments implements meta.Control.
func (s *settled) AlterReassignments(ctx context.Context, changes []meta.Reassignment) ([]*kafka.Error, error) {
	r, err := s.Control.AlterReassignments(ctx, changes)
	if err == nil {
		s.wait(ctx)
	}
	return r, err
}

// CreateACLs implements meta.Control.
func (s *settled) CreateACLs(ctx context.Context, rules []auth.Rule) error {
	err := s.Control.CreateACLs(ctx, rules)
	if err == nil {
		s.waitRules(ctx)
	}
	return err
}

// DeleteACLs implements meta.Control.
func (s *settled) DeleteACLs(ctx context.Context, filters []meta.ACLFilter) ([]meta.ACLDeletion, error) {
	gone, err := s.Control.DeleteACLs(ctx, filters)
	if err == nil {
		s.waitRules(ctx)
	}
	return gone, err
}

// waitRules waits until the authorizers go by the rules of the present image. One that
// does not take them in time decides nothing meanwhile.
func (s *settled) waitRules(ctx context.Context) {
	if s.rules == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, settleWait)
	defer stop()
	s.rules.WaitRules(ctx, s.Image().ACLEpoch)
}

// Settle returns once what was decided until now is in effect on this broker: its
// partitions are made, lead and follow as the image says. It is for tests that decide
// beside the broker; what the broker decides for its clients waits by itself.
func (b *Broker) Settle(ctx context.Context) error {
	return b.roles.WaitApplied(ctx, b.image().Index)
}
