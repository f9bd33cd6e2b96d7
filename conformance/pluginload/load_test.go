package pluginload_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	pause   time.Duration
	counts  map[string]*atomic.Int64
	mu      sync.Mutex
	wrong   []string // guarded by mu
	notes   string   // guarded by mu; of the world, when the first wrong answer came
	// trouble has what may fail now, but not for good: nothing that is wrong may pass.
	trouble map[string]bool // guarded by mu
	// right counts the right answers since the last wrong one or may, by part.
	right  map[string]int  // guarded by mu
	failed map[string]bool // guarded by mu; parts whose last answer was wrong
}

// may says what may fail from now on, because its plugin does; nothing else may.
func (l *load) may(fail ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = map[string]bool{}
	for _, what := range fail {
		l.trouble[what] = true
	}
	clear(l.right) // what was right before says nothing of who is well afterwards
}

// is compares an answer with the one that is right, which is nil or an error for good.
func (l *load) is(what, about string, got, want error) {
	if l.ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[what] = !errors.Is(got, want)
	if !l.failed[what] {
		l.right[what]++
		return
	}
	l.right[what] = 0
	if l.trouble[what] && got != nil && (want != nil || !fatal(got)) {
		return
	}
	if len(l.wrong) == 0 {
		l.notes = l.w.notes.text()
	}
	if len(l.wrong) < wrongMax {
		when := "while nothing may fail"
		if l.trouble != nil {
			when = "in or after a fault"
		}
		l.wrong = append(l.wrong, fmt.Sprintf("%s, %s: %s: %s: %v, want %v", time.Now().Format("15:04:05.000"), when, what, about, got, want))
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

// failurePause is how long a part with pauses waits after a failure, as clients do
// (retry.backoff.ms): else those who connect again and again would be what the traffic
// suffers from.
const failurePause = 100 * time.Millisecond

// failing says whether the last answer of a part was a wrong one.
func (l *load) failing(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[what]
}

// run repeats something, which is counted.
func (l *load) run(what string, f func(n int)) {
	count := l.counts[what]
	if count == nil {
		count = new(atomic.Int64)
		l.counts[what] = count
	}
	l.running.Go(func() {
		for n := 0; l.ctx.Err() == nil; n++ {
			f(n)
			count.Add(1)
			pause := l.pause
			if pause > 0 && l.failing(what) {
				pause = max(pause, failurePause)
			}
			if pause > 0 {
				select {
				case <-l.ctx.Done():
				case <-time.After(pause):
				}
			}
		}
	})
}

// topics makes those of the load.
func (w *world) topics() {
	w.topic("checked", map[string]string{"mortise.partitioner": "partitioner", "mortise.partitioner.check": "reject"})
	w.topic("counted", map[string]string{"mortise.partitioner": "partitioner", "mortise.partitioner.check": "count"})
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

// idle is a load of nothing.
func (w *world) idle() *load {
	l := &load{w: w, counts: map[string]*atomic.Int64{}, right: map[string]int{}, failed: map[string]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	w.t.Cleanup(func() { // also when the test failed before the end of the load
		l.cancel()
		l.running.Wait()
	})
	return l
}

// begin loads every kind of plugin; each part waits so long between questions.
func (w *world) begin(pause time.Duration) *load {
	l := w.idle()
	l.pause = pause
	// Each part has a client of its own: what one is refused may be in the same batch,
	// or wait for the same metadata, as what another may.
	clients := map[string]*kgo.Client{}
	for _, topic := range []string{"checked", "no keys", "counted", "push-orders", "rolled", "closed", "push-closed"} {
		clients[topic] = w.client(guarded, as("alice", "secret-alice"))
	}
	put := func(topic, key string, partition int32) error {
		c := clients[topic]
		if topic == "checked" && key == "" {
			c = clients["no keys"]
		}
		return c.ProduceSync(l.ctx, &kgo.Record{Topic: topic, Key: []byte(key), Partition: partition, Value: make([]byte, 100)}).FirstErr()
	}
	l.run("keys", func(n int) {
		key := fmt.Sprintf("key-%d", n)
		l.is("keys", "in its place", put("checked", key, place(key)), nil)
		if n%8 == 0 {
			l.is("keys", "elsewhere", put("checked", key, (place(key)+1)%4), kerr.InvalidRecord)
		}
	})
	l.run("no keys", func(n int) { l.is("no keys", "anywhere", put("checked", "", int32(n%4)), nil) })
	l.run("counted", func(n int) { l.is("counted", "anywhere", put("counted", "key", int32(n%4)), nil) })
	l.run("rules", func(int) { l.is("rules", "that allow", put("push-orders", "k", 0), nil) })
	l.run("denied", func(int) {
		for _, topic := range []string{"closed", "push-closed"} {
			l.is("denied", topic, put(topic, "k", 0), kerr.TopicAuthorizationFailed)
		}
	})
	l.run("segments", func(n int) { l.is("segments", "more", put("rolled", "k", int32(n%4)), nil) })
	l.run("logins", func(n int) {
		user := fmt.Sprintf("user-%d", n)
		c := w.client(guarded, as(user, "secret-"+user))
		l.is("logins", "the right password", c.Ping(l.ctx), nil)
		c.Close()
		if n%4 == 0 {
			c = w.client(guarded, as(user, "guess"))
			l.is("logins", "a wrong password", c.Ping(l.ctx), kerr.SaslAuthenticationFailed)
			c.Close()
		}
	})
	reader := w.client(guarded, as("bob", "secret-bob"), kgo.ConsumeTopics("checked", "push-orders"))
	l.run("polls", func(int) {
		errs := reader.PollFetches(l.ctx).Errors()
		for _, e := range errs {
			l.is("polls", e.Topic, e.Err, nil)
		}
		if len(errs) == 0 {
			l.is("polls", "all", nil, nil)
		}
	})
	l.running.Go(func() {
		<-l.ctx.Done()
		for _, c := range clients {
			c.Close()
		}
		reader.Close()
	})
	return l
}

// askedMin is how often everything is asked at least.
const askedMin = 20

// enough waits until everything was asked.
func (l *load) enough() {
	l.w.t.Helper()
	l.w.until("enough was asked", func(map[string]pluginhost.Status) bool {
		for _, n := range l.counts {
			if n.Load() < askedMin {
				return false
			}
		}
		return true
	})
}

// rightMin is how many right answers in a row show that a part is well.
const rightMin = 10

// recovered waits until no part has trouble any more.
func (l *load) recovered() {
	l.w.t.Helper()
	l.w.until("clients have recovered", func(map[string]pluginhost.Status) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, what := range everything {
			if l.right[what] < rightMin {
				return false
			}
		}
		return true
	})
}

// end stops the load, once enough was asked, and tells what was wrong.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.enough()
	l.cancel()
	l.running.Wait()
	for _, wrong := range l.wrong {
		t.Error(wrong)
	}
	if len(l.wrong) > 0 {
		t.Log(l.notes)
	}
	for what, n := range l.counts {
		t.Logf("%s: %d", what, n.Load())
	}
}
