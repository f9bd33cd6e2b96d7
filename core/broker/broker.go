package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/internal/alterpartition"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/internal/compaction"
	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/internal/fetcher"
	"github.com/mortisemq/mortise/core/internal/future"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/internal/retention"
	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/internal/server"
	"github.com/mortisemq/mortise/core/internal/telemetry"
	"github.com/mortisemq/mortise/core/internal/throttle"
	"github.com/mortisemq/mortise/core/loglevel"
	"github.com/mortisemq/mortise/core/meta"
)

// state is where a broker is in its life.
type state int32

const (
	stateNew state = iota
	stateRecovering
	stateRunning
	stateStopping
)

// String is the state in /readyz.
func (s state) String() string {
	return [...]string{"starting", "recovering", "running", "stopping"}[s]
}

// Broker is one broker. New makes it, Start and Close are called once each;
// everything else is safe for concurrent use.
type Broker struct {
	options  Options
	resolver *config.Resolver
	levels   *loglevel.Levels
	state    atomic.Int32
	shown    shown
	epoch    atomic.Int64 // of the registration that counts; 0: none yet
	contact  contact      // with whoever decides

	telemetry *telemetry.Manager // nil: clients push no metrics

	// Set by Start, in this order; nil: not reached.
	adminListener net.Listener
	admin         *admin.Server
	dirs          *logdir.Set
	files         *commitlog.Files
	purgatory     *purgatory.Purgatory
	followers     *fetcher.Manager
	asker         *alterpartition.Sender
	roles         *reconcile.Roles
	moves         *future.Mover
	groups        *coordinator.Coordinator
	listeners     []net.Listener // as Options.Listeners
	plugins       *plugins
	authorizer    *security.Authorizer
	ruleWatch     func() // ends the watching of the cluster's rules
	api           *api.API
	server        *server.Server
	retention     *retention.Scheduler
	compaction    *compaction.Scheduler

	// What throttled replicas take, here as a leader and as a follower.
	leaderThrottle, followerThrottle *throttle.Rate

	serving sync.WaitGroup // goroutines that serve listeners
}

// New makes a broker that does nothing yet. The error names everything that is
// wrong with the options.
func New(o Options) (*Broker, error) {
	o.fill()
	if err := o.check(); err != nil {
		return nil, err
	}
	b := &Broker{options: o, resolver: config.NewResolver(o.Static).For(o.NodeID), levels: loglevel.Of(o.Log)}
	if o.ClientTelemetry {
		b.telemetry = telemetry.New(telemetry.Options{Image: b.image,
			MaxBytes: func() int32 { return b.config().TelemetryMaxBytes },
			Clock:    o.Clock, Log: b.log("telemetry"), Metrics: o.Metrics})
	}
	return b, nil
}

// log is the logger of a room, whose level people can change.
func (b *Broker) log(room string) *slog.Logger { return b.levels.Logger("mortise." + room) }

// Addr is the address that a listener is bound to; nil: not started, or no such
// listener.
func (b *Broker) Addr(listener string) net.Addr {
	for n, l := range b.listeners {
		if b.options.Listeners[n].Name == listener {
			return l.Addr()
		}
	}
	return nil
}

// AdminAddr is the address of the admin listener; nil: there is none.
func (b *Broker) AdminAddr() net.Addr {
	if b.adminListener == nil {
		return nil
	}
	return b.adminListener.Addr()
}

// image is the newest picture of the cluster.
func (b *Broker) image() *meta.Image { return b.options.Control.Image() }

// config is this broker's effective config.
func (b *Broker) config() *config.Broker {
	return b.resolver.Broker(b.image(), b.options.NodeID)
}

// listen binds every client listener.
func (b *Broker) listen() error {
	for _, l := range b.options.Listeners {
		bound, err := b.options.Net.Listen(l.Address)
		if err != nil {
			return fmt.Errorf("listener %s: %w", l.Name, err)
		}
		b.listeners = append(b.listeners, bound)
	}
	return nil
}

// endpoints are what clients are told of the bound listeners.
func (b *Broker) endpoints() ([]meta.Endpoint, error) {
	var all []meta.Endpoint
	var errs []error
	for n, l := range b.options.Listeners {
		e, err := l.endpoint(b.listeners[n].Addr())
		errs = append(errs, err)
		all = append(all, e)
	}
	return all, errors.Join(errs...)
}

// Reconfigure replaces the broker keys of the config file. It returns the keys
// that changed but need a restart to take effect. When it returns, the others
// count for every partition.
func (b *Broker) Reconfigure(static config.Static) (pending []string) {
	pending = b.resolver.SetStatic(static)
	if roles := b.shown.roles.Load(); roles != nil {
		roles.Reconfigure()
	}
	if moves := b.shown.moves.Load(); moves != nil {
		moves.SetRate(b.moveRate())
		b.setThrottles()
		b.followers.Resize()
	}
	return pending
}
