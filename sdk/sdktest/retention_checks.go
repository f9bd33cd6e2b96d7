package sdktest

import (
	"context"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// draws is how many drawn questions a case asks.
const draws = 150

func retentionChecks() []check {
	all := []check{
		{name: "retention/verdicts", says: "verdicts name logs of the question and delete only what may go, oldest first", run: checkVerdicts},
		{name: "retention/pure", says: "the same facts give the same verdicts", run: checkPure},
		{name: "retention/clock", says: "time comes from the facts, not from a clock", run: checkClock},
		{name: "retention/executed", says: "when its verdicts are executed it asks for nothing more", run: checkExecuted},
		{name: "retention/monotone", says: "of one log, what may go today may go tomorrow", run: checkMonotone},
		{name: "retention/others", says: "a log without segments changes nothing for others", run: checkOthers},
	}
	for i := range all {
		all[i].kind = plugin.Retention
	}
	return all
}

// retaining runs a case with an instance and drawn questions.
func retaining(ctx context.Context, b *bench, run func(t *retentionTalk, logs []storage.LogFacts) error) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	for n := range draws {
		if err := run(t.(*retentionTalk), drawLogs(uint64(1000+n))); err != nil {
			return err
		}
	}
	return t.end()
}

func checkVerdicts(ctx context.Context, b *bench) error {
	return retaining(ctx, b, func(t *retentionTalk, logs []storage.LogFacts) error {
		_, err := t.decide(ctx, logs)
		return err
	})
}

func checkPure(ctx context.Context, b *bench) error {
	return retaining(ctx, b, func(t *retentionTalk, logs []storage.LogFacts) error {
		first, err := t.decide(ctx, logs)
		if err != nil {
			return err
		}
		if _, err := t.decide(ctx, drawLogs(7)); err != nil {
			return err
		}
		second, err := t.decide(ctx, logs)
		if err != nil {
			return err
		}
		if !slices.Equal(first, second) {
			return fmt.Errorf("1: of the same logs %v segments go, then %v", first, second)
		}
		return nil
	})
}

func checkClock(ctx context.Context, b *bench) error {
	return retaining(ctx, b, func(t *retentionTalk, logs []storage.LogFacts) error {
		now, err := t.decide(ctx, logs)
		if err != nil {
			return err
		}
		for _, years := range []int64{-40, 40} {
			then, err := t.decide(ctx, shifted(logs, years*365*day))
			if err != nil {
				return err
			}
			if !slices.Equal(now, then) {
				return fmt.Errorf("1: %v segments go, and with all times in the facts %d years later %v", now, years, then)
			}
		}
		return nil
	})
}

func checkExecuted(ctx context.Context, b *bench) error {
	return retaining(ctx, b, func(t *retentionTalk, logs []storage.LogFacts) error {
		gone, err := t.decide(ctx, logs)
		if err != nil {
			return err
		}
		more, err := t.decide(ctx, executed(logs, gone))
		if err != nil {
			return err
		}
		if slices.Max(more) > 0 {
			return fmt.Errorf("9: after %v segments went, it asks for %v more", gone, more)
		}
		return nil
	})
}

// executed is the facts after the oldest segments went. Where all went, the core has
// rolled an empty active one.
func executed(logs []storage.LogFacts, gone []int) []storage.LogFacts {
	logs = slices.Clone(logs)
	for i, n := range gone {
		l := &logs[i]
		if n > 0 && n == len(l.Segments) {
			end := l.Segments[n-1].NextOffset
			l.Segments = []storage.SegmentFacts{{BaseOffset: end, NextOffset: end, MaxTimestampMS: -1, ModifiedMS: l.NowMS, Active: true}}
			continue
		}
		l.Segments = l.Segments[n:]
	}
	withTopics(logs)
	return logs
}

// checkMonotone asks about one log at a time: a rule may weigh logs against each other.
func checkMonotone(ctx context.Context, b *bench) error {
	return retaining(ctx, b, func(t *retentionTalk, logs []storage.LogFacts) error {
		one := logs[:1]
		withTopics(one)
		before, err := t.decide(ctx, one)
		if err != nil {
			return err
		}
		for _, later := range []int64{1, day, 400 * day} {
			one[0].NowMS = factsNow + later
			after, err := t.decide(ctx, one)
			if err != nil {
				return err
			}
			if after[0] < before[0] {
				return fmt.Errorf("%d segments go, and %d ms later only %d", before[0], later, after[0])
			}
			before = after
		}
		return nil
	})
}

func checkOthers(ctx context.Context, b *bench) error {
	return retaining(ctx, b, func(t *retentionTalk, logs []storage.LogFacts) error {
		alone, err := t.decide(ctx, logs)
		if err != nil {
			return err
		}
		empty := storage.LogFacts{Topic: logs[0].Topic, Partition: 99, NowMS: factsNow, RetentionMS: day, RetentionBytes: 1, Topics: logs[0].Topics}
		with, err := t.decide(ctx, append([]storage.LogFacts{empty}, logs...))
		if err != nil {
			return err
		}
		if with[0] != 0 || !slices.Equal(with[1:], alone) {
			return fmt.Errorf("%v segments go, and with an empty log before them %v", alone, with)
		}
		return nil
	})
}
