package broker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// quick is a Control that decides at once.
type quick struct{ meta.Control }

func (quick) Image() *meta.Image { return meta.Empty("c").Edit(7).Image() }

func (quick) CreateTopics(context.Context, []meta.NewTopic, bool) ([]meta.TopicResult, error) {
	return nil, nil
}

func (quick) DeleteTopics(context.Context, []kafka.TopicID) ([]*kafka.Error, error) { return nil, nil }

func (quick) CreatePartitions(context.Context, []meta.NewPartitions, bool) ([]*kafka.Error, error) {
	return nil, nil
}

func (quick) AlterConfigs(context.Context, []meta.ConfigChange, bool) ([]*kafka.Error, error) {
	return nil, nil
}

func (quick) ElectLeaders(context.Context, meta.ElectionKind, []meta.PartitionID) ([]*kafka.Error, error) {
	return nil, nil
}

func (quick) AlterReassignments(context.Context, []meta.Reassignment) ([]*kafka.Error, error) {
	return nil, nil
}

// slow applies images after a delay.
type slow struct {
	delay time.Duration
	index uint64 // the last that was waited for
}

func (s *slow) WaitApplied(ctx context.Context, index uint64) error {
	s.index = index
	select {
	case <-time.After(s.delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestChangesReturnWhenTheyAreInEffect(t *testing.T) {
	changes := map[string]func(context.Context, meta.Control, bool){
		"CreateTopics":     func(ctx context.Context, c meta.Control, dry bool) { c.CreateTopics(ctx, nil, dry) },
		"CreatePartitions": func(ctx context.Context, c meta.Control, dry bool) { c.CreatePartitions(ctx, nil, dry) },
		"AlterConfigs":     func(ctx context.Context, c meta.Control, dry bool) { c.AlterConfigs(ctx, nil, dry) },
		"DeleteTopics": func(ctx context.Context, c meta.Control, dry bool) {
			if !dry {
				c.DeleteTopics(ctx, nil)
			}
		},
		"ElectLeaders": func(ctx context.Context, c meta.Control, dry bool) {
			if !dry {
				c.ElectLeaders(ctx, meta.Preferred, nil)
			}
		},
		"AlterReassignments": func(ctx context.Context, c meta.Control, dry bool) {
			if !dry {
				c.AlterReassignments(ctx, nil)
			}
		},
	}
	for name, change := range changes {
		for _, c := range []struct {
			delay, want time.Duration
			dry         bool
		}{{delay: time.Second, want: time.Second}, {delay: time.Hour, want: settleWait}, {delay: time.Second, dry: true}} {
			synctest.Test(t, func(t *testing.T) {
				roles := &slow{delay: c.delay}
				begin := time.Now()
				change(t.Context(), &settled{Control: quick{}, roles: roles}, c.dry)
				if took := time.Since(begin); took != c.want {
					t.Errorf("%s with roles after %v (validate only: %v) returned after %v, want %v", name, c.delay, c.dry, took, c.want)
				}
				if !c.dry && roles.index != 7 {
					t.Errorf("%s waited for image %d, want 7", name, roles.index)
				}
			})
		}
	}
}
