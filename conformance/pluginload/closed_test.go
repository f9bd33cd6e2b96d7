package pluginload_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/pluginhost"
)

// truth is what was right when. A change is a span in which both are.
type truth struct {
	mu    sync.Mutex
	spans []span // guarded by mu
}

// span is one policy: whether it refuses, from its first moment to its last.
type span struct {
	refuses    bool
	begin, end time.Time // zero end: it is the present one
}

// change makes another policy by do, which may count at any moment from now on.
func (h *truth) change(refuses bool, do func()) {
	h.mu.Lock()
	h.spans = append(h.spans, span{refuses: refuses, begin: time.Now()})
	h.mu.Unlock()
	do()
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.spans); n > 1 {
		h.spans[n-2].end = time.Now()
	}
}

// was says whether a policy that refuses, or one that does not, counted at some moment
// from begin on.
func (h *truth) was(refuses bool, begin time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.spans {
		if s.refuses == refuses && (s.end.IsZero() || !s.end.Before(begin)) {
			return true
		}
	}
	return false
}

// remembered is for how long the answers of the random run may be.
const remembered = 150 * time.Millisecond

// TestNoFaultLetsAnybodyIn takes rights away and gives them back while authenticator
// and authorizer fail at random. Nobody gets in who was refused for longer than an
// answer may be remembered, nobody is refused for good who was not, and afterwards all
// is as it should be. -seed repeats a run.
func TestNoFaultLetsAnybodyIn(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 0))
	w := start(t, options{ttl: remembered, timeout: 300 * time.Millisecond, memory: 96 << 20})
	for _, topic := range []string{"secret", "other"} {
		w.topic(topic, nil)
	}
	w.serving()
	h := &truth{}
	h.change(false, func() { w.write(w.policy(), "") })
	l := w.idle()
	seen := &verdicts{}
	l.run("logins", func(int) {
		begin := time.Now()
		c := w.client(guarded, as("eve", "secret-eve"))
		err := c.Ping(l.ctx)
		c.Close()
		seen.judge(l, h, login, begin, err)
	})
	l.run("wrong passwords", func(int) {
		c := w.client(guarded, as("eve", "guess"))
		defer c.Close()
		if err := c.Ping(l.ctx); err == nil {
			l.is("wrong passwords", "accepted", err, kerr.SaslAuthenticationFailed)
		}
	})
	alice := w.client(guarded, as("alice", "secret-alice"))
	l.run("questions", func(int) {
		begin := time.Now()
		seen.judge(l, h, question, begin, look(l.ctx, alice, "secret"))
	})
	l.run("nobody's", func(int) {
		if err := look(l.ctx, alice, "closed"); err == nil || fatal(err) && err != kerr.TopicAuthorizationFailed {
			l.is("nobody's", "looked at", err, kerr.TopicAuthorizationFailed)
		}
	})
	policies := rand.New(rand.NewPCG(*seed, 1))
	l.running.Go(func() {
		for refuses := true; l.ctx.Err() == nil; refuses = !refuses {
			h.change(refuses, func() { w.write(w.policy(), map[bool]string{true: "eve secret"}[refuses]) })
			select {
			case <-l.ctx.Done():
			case <-time.After(time.Duration(100+policies.IntN(500)) * time.Millisecond):
			}
		}
	})
	version := 0
	for range *faults {
		name := []string{"authenticator", "decide"}[random.IntN(2)]
		fault := []string{"kill", "exit", "stop", "hang", "late", "large", "lie", "panic", "error", "garbage", "grow"}[random.IntN(11)]
		t.Logf("%s: %s", name, fault)
		w.fail(name, fault)
		<-time.After(time.Duration(100+random.IntN(600)) * time.Millisecond)
		w.fail(name, "")
		if w.status()[name].State == pluginhost.Failed || random.IntN(3) == 0 { // what an operator would do
			version = 1 - version
			w.order(w.spec("authenticator", version), w.spec("decide", version))
		}
		w.serving()
	}
	// What a stopped or a grown process still owes, which is yet to be found out, goes with
	// it. Those that come are well and waited for: nothing may fail any more.
	w.timeout = patience
	version = 1 - version
	w.order(w.spec("authenticator", version), w.spec("decide", version))
	w.until("other versions serve", func(all map[string]pluginhost.Status) bool {
		return all["authenticator"].Version == versions[version] && all["decide"].Version == versions[version]
	})
	seen.recovered(w)
	l.enough()
	l.cancel()
	l.running.Wait()
	alice.Close()
	for _, wrong := range l.wrong {
		t.Errorf("seed %d: %s", *seed, wrong)
	}
	t.Logf("%+v", seen.counts)
	if seen.counts["in"] == 0 || seen.counts["refused"] == 0 {
		t.Errorf("%+v: want both", seen.counts)
	}
	w.exact(t)
}

// exact checks that both policies count when nothing is remembered any more.
func (w *world) exact(t *testing.T) {
	t.Helper()
	for policy, want := range map[string][2]error{"": {}, "eve secret": {kerr.SaslAuthenticationFailed, kerr.TopicAuthorizationFailed}} {
		w.write(w.policy(), policy)
		<-time.After(2 * remembered)
		eve, alice := w.client(guarded, as("eve", "secret-eve")), w.client(guarded, as("alice", "secret-alice"))
		l := w.idle()
		l.is("logins", policy, eve.Ping(l.ctx), want[0])
		l.is("questions", policy, look(l.ctx, alice, "secret"), want[1])
		l.cancel()
		for _, wrong := range l.wrong {
			t.Error(wrong)
		}
		eve.Close()
		alice.Close()
	}
}

// verdicts counts what came of questions.
type verdicts struct {
	mu     sync.Mutex
	counts map[string]int // guarded by mu
	known  map[string]int // guarded by mu: answers since the last trouble, by question
}

// Questions of the random run.
const (
	login    = "eve logs in"
	question = "secret is looked at"
)

// recovered waits until no question has trouble any more.
func (v *verdicts) recovered(w *world) {
	w.t.Helper()
	v.mu.Lock()
	clear(v.known) // what was known before says nothing of now
	v.mu.Unlock()
	w.until("everybody has answers", func(map[string]pluginhost.Status) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.known[login] >= rightMin && v.known[question] >= rightMin
	})
}

// judge holds an answer to the truth. Whoever got in was let in by a policy that
// counted not longer ago than an answer may be remembered; whoever was refused for
// good was refused by one.
func (v *verdicts) judge(l *load, h *truth, about string, begin time.Time, err error) {
	outcome := "trouble"
	switch {
	case l.ctx.Err() != nil:
		return
	case err == nil:
		if outcome = "in"; !h.was(false, begin.Add(-remembered)) {
			l.is(about, "let in", fmt.Errorf("it was refused since before %v", begin.Add(-remembered)), nil)
		}
	case fatal(err):
		if outcome = "refused"; !h.was(true, begin.Add(-remembered)) {
			l.is(about, "refused", err, nil)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counts == nil {
		v.counts, v.known = map[string]int{}, map[string]int{}
	}
	v.counts[outcome]++
	if v.known[about]++; outcome == "trouble" {
		v.known[about] = 0
	}
}

// look asks for the end of a topic, once.
func look(ctx context.Context, c *kgo.Client, topic string) error {
	q := kmsg.NewPtrListOffsetsRequest()
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = -1
	q.Topics = append(q.Topics, kmsg.ListOffsetsRequestTopic{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}})
	r, err := c.Broker(1).Request(ctx, q)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode)
}
