package telemetry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
)

// image has subscriptions.
func image(subscriptions map[string]map[string]string) *meta.Image {
	e := meta.Empty("c").Edit(1)
	for name, values := range subscriptions {
		e.SetConfig(meta.Resource{Type: meta.ResourceClientMetrics, Name: name}, values)
	}
	return e.Image()
}

// world is a manager with a clock and an image of the test's.
type world struct {
	*Manager
	clock *clock.Manual
	img   *meta.Image
}

func newWorld(subscriptions map[string]map[string]string) *world {
	w := &world{clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), img: image(subscriptions)}
	w.Manager = New(Options{Image: func() *meta.Image { return w.img }, MaxBytes: func() int32 { return 1000 }, Clock: w.clock})
	return w
}

// all is a subscription to everything, once in ten seconds.
func all() map[string]map[string]string {
	return map[string]map[string]string{"all": {"metrics": "*", "interval.ms": "10000"}}
}

// subscribe asks and wants an answer.
func (w *world) subscribe(t *testing.T, id InstanceID) Subscribed {
	t.Helper()
	s, code := w.Subscribe(Client{Conn: 1}, id)
	if code != kafka.None {
		t.Fatal(code)
	}
	return s
}

func want(t *testing.T, got, want kafka.ErrorCode) {
	t.Helper()
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSubscribe: a new client gets an id that it keeps, and is told what to push.
func TestSubscribe(t *testing.T) {
	w := newWorld(all())
	s := w.subscribe(t, NoInstance)
	if s.Instance.reserved() || s.IntervalMS != 10000 || s.MaxBytes != 1000 || !slices.Equal(s.Metrics, []string{"*"}) {
		t.Fatalf("got %+v", s)
	}
	w.clock.Advance(10 * time.Second)
	if again := w.subscribe(t, s.Instance); again.Instance != s.Instance || again.SubscriptionID != s.SubscriptionID {
		t.Errorf("then %+v, after %+v", again, s)
	}
}

// TestSubscribeIsThrottled until an interval is over, unless what to push has changed.
func TestSubscribeIsThrottled(t *testing.T) {
	w := newWorld(all())
	s := w.subscribe(t, NoInstance)
	w.clock.Advance(10*time.Second - 1)
	_, code := w.Subscribe(Client{Conn: 1}, s.Instance)
	want(t, code, kafka.ErrThrottlingQuotaExceeded)
	w.img = image(map[string]map[string]string{"all": {"metrics": "*", "interval.ms": "20000"}})
	if changed := w.subscribe(t, s.Instance); changed.SubscriptionID == s.SubscriptionID || changed.IntervalMS != 20000 {
		t.Errorf("then %+v, after %+v", changed, s)
	}
	w.img = image(map[string]map[string]string{"all": {"metrics": "*", "interval.ms": "20000"}})
	_, code = w.Subscribe(Client{Conn: 1}, s.Instance)
	want(t, code, kafka.ErrThrottlingQuotaExceeded) // another image that says the same
}

// TestPush goes through what may come when.
func TestPush(t *testing.T) {
	w := newWorld(all())
	s := w.subscribe(t, NoInstance)
	push := func(change func(*Push)) kafka.ErrorCode {
		p := &Push{Instance: s.Instance, SubscriptionID: s.SubscriptionID, Metrics: gauge("a", 1)}
		if change != nil {
			change(p)
		}
		return w.Admit(Client{Conn: 1}, p)
	}
	want(t, push(func(p *Push) { p.Instance = NoInstance }), kafka.ErrInvalidRequest)
	want(t, push(func(p *Push) { p.Instance = InstanceID{15: 1} }), kafka.ErrInvalidRequest)
	want(t, push(nil), kafka.None) // at once after it asked
	want(t, push(nil), kafka.ErrThrottlingQuotaExceeded)
	w.clock.Advance(10*time.Second - 1)
	want(t, push(nil), kafka.ErrThrottlingQuotaExceeded)
	w.clock.Advance(1)
	want(t, push(func(p *Push) { p.SubscriptionID++ }), kafka.ErrUnknownSubscriptionID)
	w.subscribe(t, s.Instance) // may ask at once after that
	want(t, push(nil), kafka.ErrThrottlingQuotaExceeded)
	w.clock.Advance(10 * time.Second)
	want(t, push(func(p *Push) { p.Codec = 5 }), kafka.ErrUnsupportedCompressionType)
	w.subscribe(t, s.Instance) // and after that
	w.clock.Advance(10 * time.Second)
	want(t, push(func(p *Push) { p.Metrics = make([]byte, 1001) }), kafka.ErrTelemetryTooLarge)
	_, code := w.Subscribe(Client{Conn: 1}, s.Instance)
	want(t, code, kafka.ErrThrottlingQuotaExceeded) // but not after that
	want(t, push(func(p *Push) { p.Terminating = true }), kafka.None)
	want(t, push(func(p *Push) { p.Terminating = true }), kafka.ErrInvalidRequest)
	want(t, push(nil), kafka.ErrInvalidRequest)
	w.clock.Advance(10 * time.Second)
	want(t, push(nil), kafka.None) // as in Kafka the last refusal took the end back
}

// TestPushOfAStranger, whose id another broker may have given: the subscription's id
// is the same here.
func TestPushOfAStranger(t *testing.T) {
	w, other := newWorld(all()), newWorld(all())
	s := other.subscribe(t, NoInstance)
	p := &Push{Instance: s.Instance, SubscriptionID: s.SubscriptionID}
	want(t, w.Admit(Client{Conn: 1}, p), kafka.None)
	want(t, w.Take(Client{Conn: 1}, p), kafka.None) // nothing
	if f := w.Shown().Families(); f != nil {
		t.Errorf("shown: %+v", f)
	}
}

// TestUnreadablePush is INVALID_RECORD and shows nothing.
func TestUnreadablePush(t *testing.T) {
	w := newWorld(all())
	for n, p := range []*Push{
		{Metrics: []byte{0xff}},
		{Codec: record.Zstd, Metrics: []byte{1, 2, 3}},
		{Codec: record.Gzip, Metrics: zipped(t, make([]byte, 1<<20))}, // more than may come of it
		{Metrics: slices.Concat(gauge("a", 1), []byte{0x0a, 0x05})},
	} {
		want(t, w.Take(Client{Conn: 1}, p), kafka.ErrInvalidRecord)
		if f := w.Shown().Families(); f != nil {
			t.Errorf("push %d, shown: %+v", n, f)
		}
	}
}

// TestInstancesAreForgotten: when their connection ends, when they are silent for
// long, and the one that was silent longest when there are too many.
func TestInstancesAreForgotten(t *testing.T) {
	w := newWorld(all())
	s := w.subscribe(t, NoInstance)
	w.Gone(2)
	_, code := w.Subscribe(Client{Conn: 1}, s.Instance)
	want(t, code, kafka.ErrThrottlingQuotaExceeded)
	w.Gone(1)
	w.subscribe(t, s.Instance) // a new one

	w.clock.Advance(silenceMin - 1)
	if n := w.known(); n != 1 {
		t.Errorf("%v instances, want 1", n)
	}
	w.clock.Advance(1)
	if n := w.known(); n != 0 {
		t.Errorf("%v instances, want none", n)
	}

	first := w.subscribe(t, NoInstance)
	for n := range InstancesMax {
		w.Subscribe(Client{Conn: uint64(n) + 2}, NoInstance)
	}
	if n := w.known(); n != InstancesMax {
		t.Errorf("%v instances, want %d", n, InstancesMax)
	}
	w.subscribe(t, first.Instance) // was forgotten: it need not wait
	if n := len(w.instances.byConn); n > InstancesMax+1 {
		t.Errorf("%d connections", n)
	}
}

// ExampleInstanceID shows Kafka's text form.
func ExampleInstanceID() {
	fmt.Println(InstanceID{0: 1, 15: 2})
	// Output: AQAAAAAAAAAAAAAAAAAAAg
}
