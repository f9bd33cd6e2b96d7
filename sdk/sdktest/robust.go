package sdktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

const (
	parallelCallers = 64
	shortCalls      = 50 // calls that are cut short
)

func robustChecks() []check {
	return []check{
		{name: "robust/empty", says: "a question about nothing is answered", run: asks(talk.empty)},
		{name: "robust/largest", says: "the largest questions are answered", run: asks(talk.largest)},
		{name: "robust/odd", says: "text that is no UTF-8, null, empty and extreme values do no harm", run: asks(talk.odd)},
		{name: "robust/deadline", says: "calls with 1 ms return with it, and calls after them are answered", run: checkDeadline},
		{name: "robust/cancel", says: "a call that is cancelled returns soon", run: checkCancel},
		{name: "robust/parallel", says: "64 callers at once get the answers that one gets", run: checkParallel},
		{name: "robust/memory", says: "memory does not grow with calls", run: checkMemory},
	}
}

// asks is a case of one method.
func asks(ask func(talk, context.Context) error) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		t, err := b.talk(ctx)
		if err != nil {
			return err
		}
		if err := ask(t, ctx); err != nil {
			return err
		}
		return t.end()
	}
}

// tolerable says whether a call that was cut short ended as it may.
func tolerable(err error) bool {
	return err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, plugin.ErrUnavailable)
}

func checkDeadline(ctx context.Context, b *bench) error {
	return cutShort(ctx, b, func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, time.Millisecond)
	})
}

func checkCancel(ctx context.Context, b *bench) error {
	return cutShort(ctx, b, func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, cancel
	})
}

// cutShort asks with contexts that end at once. A call that does not return then keeps
// its instance from being drained, which shows when a connection is between.
func cutShort(ctx context.Context, b *bench, cut func(context.Context) (context.Context, context.CancelFunc)) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	usage := b.usage()
	for n := range shortCalls {
		short, cancel := cut(ctx)
		_, err := t.ordinary(short, n)
		cancel()
		if !tolerable(err) {
			return fmt.Errorf("a call that was cut short ended with: %w", err)
		}
	}
	if _, err := t.ordinary(ctx, 0); err != nil {
		return fmt.Errorf("after calls that were cut short: %w", err)
	}
	if err := usage.settles(ctx); err != nil {
		return fmt.Errorf("after calls that were cut short: %w", err)
	}
	return t.end()
}

func checkParallel(ctx context.Context, b *bench) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	alone := make([]string, 4)
	for n := range alone {
		if alone[n], err = t.ordinary(ctx, n); err != nil {
			return err
		}
	}
	failed := make(chan error, parallelCallers)
	until := time.Now().Add(time.Second)
	var callers sync.WaitGroup
	for caller := range parallelCallers {
		callers.Go(func() {
			for n := caller; n < caller+100 && (n == caller || time.Now().Before(until)); n++ {
				answer, err := t.ordinary(ctx, n%len(alone))
				if err == nil && answer != alone[n%len(alone)] {
					err = fmt.Errorf("one caller alone gets %s, one of many %s", alone[n%len(alone)], answer)
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	callers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return t.end()
	}
}
