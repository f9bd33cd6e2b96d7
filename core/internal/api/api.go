package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/internal/future"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partitioning"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/internal/telemetry"
	"github.com/mortisemq/mortise/core/internal/throttle"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/loglevel"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// Deps are what an API works with. All are required but those that say otherwise.
type Deps struct {
	Self kafka.BrokerID
	// Control decides. Its changes should be in effect on this broker when they
	// return, so that a client that reads its own change finds it.
	Control   meta.Control
	Roles     *reconcile.Roles
	Purgatory *purgatory.Purgatory
	Dirs      *logdir.Set
	Moves     *future.Mover
	// Groups coordinates groups; nil: nobody here does.
	Groups  *coordinator.Coordinator
	Config  func() *config.Resolver
	Clock   clock.Clock
	Log     *slog.Logger      // nil: nothing is logged
	Levels  *loglevel.Levels  // of the broker's loggers; nil: those behind Log
	Metrics *metrics.Registry // nil: a private one

	// Partitioning checks where keys are; nil: nobody does.
	Partitioning *partitioning.Checker
	// Gate finds out who clients are; nil: all are anonymous.
	Gate *security.Gate
	// Authorizer says who may do what; nil: everybody everything.
	Authorizer Authorizer
	// Telemetry takes the metrics of clients; nil: nobody does, and clients are not
	// told that they could push any.
	Telemetry *telemetry.Manager
	// LeaderThrottle bounds what throttled followers get (leader.replication.throttled.rate);
	// nil: nothing does.
	LeaderThrottle *throttle.Rate
	// OpenFiles is the process's limit of open files; 0: not known. New partitions
	// are refused when there would be far more than it can carry.
	OpenFiles int
}

// API answers requests. It is safe for concurrent use.
type API struct {
	deps       Deps
	data       *dataPlane
	table      *table
	background *background
	logins     *background
	pushes     *background // of clients' metrics
	creator    *topicCreator
}

// New makes an API. Close it after the server and before the roles.
func New(deps Deps) *API {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Levels == nil {
		deps.Levels = loglevel.Of(deps.Log)
	}
	if deps.Metrics == nil {
		deps.Metrics = metrics.NewRegistry()
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Gate == nil {
		deps.Gate = security.NewGate(security.GateOptions{Clock: deps.Clock, MaxReauth: func() time.Duration { return 0 }, Metrics: deps.Metrics})
	}
	a := &API{deps: deps}
	a.data = newDataPlane(&a.deps)
	a.background = newBackground(deps.Metrics.Gauge("mortise_api_background_requests", "Requests that wait for the cluster or the file system, or are being worked on."))
	a.logins = newBackground(deps.Metrics.Gauge("mortise_api_logins", "Logins that wait for their turn or for the authenticator."))
	a.pushes = newBackground(deps.Metrics.Gauge("mortise_api_metric_pushes", "Pushes of clients' metrics that wait for their turn or are being read."))
	a.creator = newTopicCreator(a)
	a.table = newTable(a)
	return a
}

// Close ends what runs in the background and waits for it. Requests that wait for
// the cluster are answered with an error.
func (a *API) Close() {
	a.background.close()
	a.logins.close()
	a.pushes.close()
	a.data.close()
}

// Handle implements wire.Handler.
//
// Hot: per request. 0 allocs here.
func (a *API) Handle(r *wire.Request) {
	if !a.admit(r) {
		return
	}
	if r.Key == wire.KeyToken && r.Conn.ExpectsTokens() {
		a.saslToken(r)
		return
	}
	e := a.table.find(r.Key)
	if r.Key == wire.KeyAPIVersions {
		a.apiVersions(r) // answers any version
		return
	}
	if e == nil || r.Version < e.min || r.Version > e.max {
		r.Drop(versionError(r.Key, r.Version))
		return
	}
	e.handle(r)
}

// Versions is the range of versions of a key that Handle takes.
func (a *API) Versions(key int16) (min, max int16, ok bool) {
	e := a.table.find(key)
	if e == nil {
		return 0, 0, false
	}
	return e.min, e.max, true
}

// Gone is told of each connection that has ended, after its last Handle.
func (a *API) Gone(conn *wire.ConnInfo) {
	if a.deps.Telemetry != nil {
		a.deps.Telemetry.Gone(conn.ID)
	}
}

// image is the picture of this moment. A handler takes it once, so that all of
// its answer is about one state.
func (a *API) image() *meta.Image { return a.deps.Control.Image() }

// broker is this broker's configuration.
func (a *API) broker(img *meta.Image) *config.Broker {
	return a.deps.Config().Broker(img, a.deps.Self)
}

// later runs work that may block in the background, one after the other for each
// connection. ctx ends when the API closes, and names who asks.
func (a *API) later(r *wire.Request, work func(ctx context.Context)) {
	identity := r.Conn.Identity()
	if !a.background.submit(r.Conn.ID, func(ctx context.Context) {
		if identity != nil {
			ctx = meta.For(ctx, identity.Principal)
		}
		work(ctx)
	}) {
		r.Drop(errBusy)
	}
}

var _ wire.Handler = (*API)(nil)
