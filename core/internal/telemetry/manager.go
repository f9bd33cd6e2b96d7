package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
)

// Options make a Manager. All are required but those that say otherwise.
type Options struct {
	Image    func() *meta.Image
	MaxBytes func() int32      // telemetry.max.bytes
	Clock    clock.Clock       // nil: the system's
	Log      *slog.Logger      // nil: nothing is logged
	Metrics  *metrics.Registry // nil: a private one
}

// Manager decides what clients push and takes it. It is safe for concurrent use.
type Manager struct {
	opt   Options
	shown *Shown

	mu            sync.Mutex
	img           *meta.Image    // that subscriptions are of; guarded by mu
	subscriptions []subscription // guarded by mu
	version       uint64         // of subscriptions; guarded by mu
	instances     *cache         // guarded by mu
}

// New makes a manager.
func New(o Options) *Manager {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	m := &Manager{opt: o, shown: newShown(o.Clock, o.Metrics), instances: newCache()}
	o.Metrics.GaugeFunc("mortise_telemetry_instances", "Client instances that push metrics or ask which ones they should.", m.known)
	return m
}

// known counts the instances.
func (m *Manager) known() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.instances.sweep(m.opt.Clock.Now())
	return float64(len(m.instances.byID))
}

// Shown is what clients have pushed.
func (m *Manager) Shown() *Shown { return m.shown }

// Codecs are the ways of compression that are taken, the best first.
func Codecs() []record.Codec {
	return []record.Codec{record.Zstd, record.LZ4, record.Gzip, record.Snappy}
}

// Subscribed is what a client is told to push.
type Subscribed struct {
	Instance       InstanceID
	SubscriptionID int32
	IntervalMS     int32
	MaxBytes       int32
	Metrics        []string // beginnings of names; none: nothing; "*": all. Not to be changed.
}

// Subscribe tells a client what to push. NoInstance asks for an id. A client that
// asks more often than it should push is refused, unless what it should push has
// changed or its last push was refused for that.
func (m *Manager) Subscribe(c Client, id InstanceID) (Subscribed, kafka.ErrorCode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.opt.Clock.Now()
	if id == NoInstance {
		id = InstanceID(kafka.NewTopicID()) // a UUID, as Kafka makes them for whatever
	}
	i := m.find(id, c, now)
	if !i.mayGet(now) && i.lastError != kafka.ErrUnknownSubscriptionID && i.lastError != kafka.ErrUnsupportedCompressionType {
		return Subscribed{}, kafka.ErrThrottlingQuotaExceeded
	}
	i.lastError = kafka.None
	return Subscribed{Instance: id, SubscriptionID: i.wanted.id, IntervalMS: i.intervalMS, MaxBytes: m.opt.MaxBytes(), Metrics: i.metrics}, kafka.None
}

// Push is what a client pushes.
type Push struct {
	Instance       InstanceID
	SubscriptionID int32
	Terminating    bool // it is its last
	Codec          record.Codec
	Metrics        []byte // MetricsData of OpenTelemetry, compressed
}

// Admit says whether a client may push this now. What it lets pass should be given to
// Take.
func (m *Manager) Admit(c Client, p *Push) kafka.ErrorCode {
	if p.Instance.reserved() {
		return kafka.ErrInvalidRequest
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.opt.Clock.Now()
	i := m.find(p.Instance, c, now)
	i.lastError = m.refuse(i, p, now)
	i.terminating = p.Terminating
	return i.lastError
}

// refuse finds what is wrong with a push, in Kafka's order. Caller holds mu.
func (m *Manager) refuse(i *instance, p *Push, now time.Time) kafka.ErrorCode {
	switch {
	case i.terminating:
		return kafka.ErrInvalidRequest
	case !i.mayPush(now) && !p.Terminating:
		return kafka.ErrThrottlingQuotaExceeded
	case p.SubscriptionID != i.wanted.id:
		return kafka.ErrUnknownSubscriptionID
	case p.Codec > record.Zstd:
		return kafka.ErrUnsupportedCompressionType
	case len(p.Metrics) > int(m.opt.MaxBytes()):
		return kafka.ErrTelemetryTooLarge
	}
	return kafka.None
}

// Take reads a push that Admit let pass and shows its numbers. It takes as long as
// decompression takes.
func (m *Manager) Take(c Client, p *Push) kafka.ErrorCode {
	if len(p.Metrics) == 0 {
		return kafka.None
	}
	points, err := read(p.Metrics, p.Codec, int(m.opt.MaxBytes()))
	m.mu.Lock()
	interval := time.Duration(defaultIntervalMS) * time.Millisecond
	if i := m.instances.byID[p.Instance]; i != nil {
		interval = i.interval()
		if err != nil {
			i.lastError = kafka.ErrInvalidRecord
		}
	}
	m.mu.Unlock()
	if err != nil {
		m.opt.Log.Debug("metrics of a client can't be read", "instance", p.Instance.String(), "error", err)
		return kafka.ErrInvalidRecord
	}
	m.shown.take(c, p.Instance, points, lifetime(interval))
	return kafka.None
}

// Gone forgets the instance of a connection that has ended. Its numbers are shown for
// a while: they are its last.
func (m *Manager) Gone(conn uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.instances.gone(conn)
}

// find finds or makes an instance that knows the subscriptions of this moment. Caller
// holds mu.
func (m *Manager) find(id InstanceID, c Client, now time.Time) *instance {
	m.look()
	i := m.instances.get(id, now)
	if i == nil || i.version != m.version {
		i = &instance{id: id, version: m.version, wanted: wantedOf(m.subscriptions, &c, id)}
		m.instances.put(i, c.Conn)
	}
	i.until = now.Add(lifetime(i.interval()))
	return i
}

// look takes the subscriptions of this moment. Caller holds mu.
func (m *Manager) look() {
	img := m.opt.Image()
	if img == m.img {
		return
	}
	m.img = img
	if now := subscriptions(img); !same(now, m.subscriptions) {
		m.subscriptions = now
		m.version++
	}
}
