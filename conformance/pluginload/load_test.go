package pluginload_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/pluginhost"
)

// wrongMax is how many wrong answers are told.
const wrongMax = 10

// load asks without a pause until it is stopped.
type load struct {
	w       *world
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	counts  map[string]*atomic.Int64
	// trouble says that plugins fail: a request may fail, but not for good, and nothing
	// that is wrong may pass.
	trouble atomic.Bool

	mu    sync.Mutex
	wrong []string // guarded by mu
}

// is says how the answer differs from the one that is right; nil is right if want is.
func (l *load) is(what string, got, want error) {
	if errors.Is(got, want) || l.ctx.Err() != nil || l.trouble.Load() && got != nil && (want != nil || !fatal(got)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) < wrongMax {
		l.wrong = append(l.wrong, fmt.Sprintf("%s: %v, want %v", what, got, want))
	}
}

// fatal says that a client must not try again.
func fatal(err error) bool {
	for _, e := range []error{kerr.SaslAuthenticationFailed, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.ClusterAuthorizationFailed, kerr.InvalidRecord, kerr.UnknownServerError} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// run repeats something, which is counted.
func (l *load) run(what string, f func(n int)) {
	count := new(atomic.Int64)
	l.counts[what] = count
	l.running.Go(func() {
		for n := 0; l.ctx.Err() == nil; n++ {
			f(n)
			count.Add(1)
		}
	})
}

// topics makes those of the load.
func (w *world) topics() {
	w.topic("checked", map[string]string{"mortise.partitioner": "partitioner", "mortise.partitioner.check": "reject"})
	w.topic("push-orders", nil)
	w.topic("closed", nil)
	w.topic("push-closed", nil)
	w.topic("rolled", map[string]string{"mortise.retention.plugin": "retention", "internal.segment.bytes": "1000", "retention.ms": "-1"})
}

// place is the right partition of a key.
func place(key string) int32 {
	sum := int32(0)
	for _, b := range []byte(key) {
		sum += int32(b)
	}
	return sum % 4
}

// begin loads every kind of plugin.
func (w *world) begin() *load {
	l := &load{w: w, counts: map[string]*atomic.Int64{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	alice := w.client(guarded, as("alice", "secret-alice"))
	put := func(topic, key string, partition int32) error {
		return alice.ProduceSync(l.ctx, &kgo.Record{Topic: topic, Key: []byte(key), Partition: partition, Value: make([]byte, 100)}).FirstErr()
	}
	l.run("keys", func(n int) {
		key := fmt.Sprintf("key-%d", n)
		l.is("a key in its place", put("checked", key, place(key)), nil)
		if n%8 == 0 {
			l.is("a key elsewhere", put("checked", key, (place(key)+1)%4), kerr.InvalidRecord)
		}
	})
	l.run("rights", func(n int) {
		l.is("what rules allow", put("push-orders", "k", 0), nil)
		if n%8 == 0 {
			l.is("what is denied", put("closed", "k", 0), kerr.TopicAuthorizationFailed)
			l.is("what rules deny", put("push-closed", "k", 0), kerr.TopicAuthorizationFailed)
		}
	})
	l.run("segments", func(n int) {
		l.is("a record to be deleted later", put("rolled", "k", int32(n%4)), nil)
	})
	l.run("logins", func(n int) {
		user := fmt.Sprintf("user-%d", n)
		c := w.client(guarded, as(user, "secret-"+user))
		l.is("the right password", c.Ping(l.ctx), nil)
		c.Close()
		if n%4 == 0 {
			c = w.client(guarded, as(user, "guess"))
			l.is("a wrong password", c.Ping(l.ctx), kerr.SaslAuthenticationFailed)
			c.Close()
		}
	})
	reader := w.client(guarded, as("bob", "secret-bob"), kgo.ConsumeTopics("checked", "push-orders"))
	l.run("polls", func(int) {
		for _, e := range reader.PollFetches(l.ctx).Errors() {
			l.is("reading "+e.Topic, e.Err, nil)
		}
	})
	l.running.Go(func() {
		<-l.ctx.Done()
		alice.Close()
		reader.Close()
	})
	return l
}

// askedMin is how often everything is asked at least.
const askedMin = 20

// end stops the load, once enough was asked, and tells what was wrong.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.w.until("enough was asked", func(map[string]pluginhost.Status) bool {
		for _, n := range l.counts {
			if n.Load() < askedMin {
				return false
			}
		}
		return true
	})
	l.cancel()
	l.running.Wait()
	for _, w := range l.wrong {
		t.Error(w)
	}
	for what, n := range l.counts {
		t.Logf("%s: %d", what, n.Load())
	}
}
