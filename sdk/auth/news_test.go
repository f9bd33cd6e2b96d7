package auth

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestWatchTellsOfTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n News
		ctx, cancel := context.WithCancel(t.Context())
		events, ended := make(chan Event), make(chan error, 1)
		go func() {
			ended <- n.Watch(ctx, func(e Event) error { events <- e; return nil })
		}()
		if e := <-events; e.Epoch != 0 {
			t.Errorf("first event %+v, want epoch 0", e)
		}
		synctest.Wait()
		n.Set(Event{Epoch: 5, Rules: []Rule{}})
		synctest.Wait() // it waits for us with epoch 5
		n.Set(Event{Epoch: 6})
		n.Set(Event{Epoch: 7})
		n.Set(Event{Epoch: 7, Rules: []Rule{{}}}) // no news
		n.Set(Event{Epoch: 3})
		if e := <-events; e.Epoch != 5 || e.Rules == nil {
			t.Errorf("second event %+v, want epoch 5 with rules", e)
		}
		if e := <-events; e.Epoch != 7 || e.Rules != nil {
			t.Errorf("third event %+v, want epoch 7 as it was set first", e)
		}
		if n.Epoch() != 7 {
			t.Errorf("epoch %d, want 7", n.Epoch())
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestWatchEndsWithItsReader(t *testing.T) {
	var n News
	gone := errors.New("reader gone")
	if err := n.Watch(t.Context(), func(Event) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("ended with %v, want what send returned", err)
	}
}
