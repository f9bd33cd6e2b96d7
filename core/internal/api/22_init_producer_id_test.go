package api

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// blockControl hands out blocks of ten ids, slowly when gate is set.
type blockControl struct {
	meta.Control
	mu    sync.Mutex
	next  kafka.ProducerID
	calls int
	err   error
	gate  chan struct{} // nil: at once
}

func (c *blockControl) AllocateProducerIDs(ctx context.Context) (meta.ProducerIDBlock, error) {
	if c.gate != nil {
		select {
		case <-c.gate:
		case <-ctx.Done():
			return meta.ProducerIDBlock{}, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if c.err != nil {
		return meta.ProducerIDBlock{}, c.err
	}
	b := meta.ProducerIDBlock{First: c.next, Count: 10}
	c.next += 10
	return b, nil
}

// takes collects what take answers.
type takes struct {
	mu    sync.Mutex
	ids   []kafka.ProducerID
	codes []kafka.ErrorCode
}

func (x *takes) done(id kafka.ProducerID, code kafka.ErrorCode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ids, x.codes = append(x.ids, id), append(x.codes, code)
}

func TestProducerIDsAreUniqueAndPrefetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := new(blockControl), new(takes)
		p := newProducerIDs(c)
		for range 25 {
			p.take(got.done)
			synctest.Wait()
		}
		p.close()
		seen := map[kafka.ProducerID]bool{}
		for i, id := range got.ids {
			if got.codes[i] != kafka.None || seen[id] {
				t.Fatalf("answer %d: id %d, %v: not a fresh id", i, id, got.codes[i])
			}
			seen[id] = true
		}
		if len(seen) != 25 {
			t.Fatalf("%d ids, want 25", len(seen))
		}
		if c.calls != 3 {
			t.Fatalf("%d blocks for 25 ids, want 3", c.calls)
		}
	})
}

func TestProducerIDWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := &blockControl{gate: make(chan struct{})}, new(takes)
		p := newProducerIDs(c)
		for range 15 {
			p.take(got.done)
		}
		synctest.Wait()
		if len(got.ids) != 0 {
			t.Fatalf("%d answers before there was a block", len(got.ids))
		}
		close(c.gate)
		synctest.Wait()
		p.close()
		for i, id := range got.ids {
			if id != kafka.ProducerID(i) || got.codes[i] != kafka.None {
				t.Fatalf("answer %d is id %d, %v", i, id, got.codes[i])
			}
		}
		if len(got.ids) != 15 {
			t.Fatalf("%d answers, want 15", len(got.ids))
		}
	})
}

func TestProducerIDErrorsAreRetriable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := &blockControl{err: errors.New("no majority")}, new(takes)
		p := newProducerIDs(c)
		p.take(got.done)
		synctest.Wait()
		c.mu.Lock()
		c.err = nil
		c.mu.Unlock()
		p.take(got.done)
		synctest.Wait()
		p.close()
		p.take(got.done)
		want := []kafka.ErrorCode{kafka.ErrCoordinatorLoadInProgress, kafka.None, kafka.None}
		if len(got.codes) != 3 || got.codes[0] != want[0] || got.codes[1] != want[1] {
			t.Fatalf("codes %v, want %v", got.codes, want)
		}
	})
}

func TestProducerIDWaitersAreBoundedAndFreedByClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := &blockControl{gate: make(chan struct{})}, new(takes)
		p := newProducerIDs(c)
		for range maxWaitingForIDs + 1 {
			p.take(got.done)
		}
		synctest.Wait()
		if len(got.codes) != 1 || got.codes[0] != kafka.ErrCoordinatorLoadInProgress {
			t.Fatalf("answers %v, want one refusal", got.codes)
		}
		p.close()
		if len(got.codes) != maxWaitingForIDs+1 {
			t.Fatalf("%d answers after close, want all %d", len(got.codes), maxWaitingForIDs+1)
		}
	})
}

func TestInitProducerIDRules(t *testing.T) {
	d := newDataRig(t, nil, nil)
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name    string
		version int16
		tx      *string
		id      int64
		epoch   int16
		want    kafka.ErrorCode
	}{
		{"idempotent", 0, nil, -1, -1, kafka.None},
		{"idempotent again", 5, nil, 7, 3, kafka.None},
		{"id without epoch", 3, nil, 7, -1, kafka.ErrInvalidRequest},
		{"epoch without id", 3, nil, -1, 0, kafka.ErrInvalidRequest},
		{"empty transactional id", 2, text(""), -1, -1, kafka.ErrInvalidRequest},
		{"transactional id", 4, text("tx"), -1, -1, kafka.ErrNotCoordinator},
	} {
		m := kmsg.NewPtrInitProducerIDRequest()
		m.Version, m.TransactionalID, m.ProducerID, m.ProducerEpoch = c.version, c.tx, c.id, c.epoch
		got := call[*kmsg.InitProducerIDResponse](d, d.a.initProducerID, m)
		wantEpoch := int16(0)
		if c.want != kafka.None {
			wantEpoch = -1
		}
		if kafka.ErrorCode(got.ErrorCode) != c.want || (got.ProducerID >= 0) != (c.want == kafka.None) || got.ProducerEpoch != wantEpoch {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}
