package broker

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vnet"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Options are what a broker is made of.
type Options struct {
	FS      vfs.FS            // nil: the operating system's
	Net     vnet.Network      // nil: the operating system's
	Clock   clock.Clock       // nil: the system's
	Log     *slog.Logger      // nil: nothing is logged
	Metrics *metrics.Registry // nil: a private one

	NodeID    kafka.BrokerID
	Rack      string // empty: none
	LogDirs   []string
	Listeners []Listener

	// Control decides; its image must have a cluster id. Registrar makes the
	// broker known; nil: somebody else has.
	Control   meta.Control
	Registrar meta.Registrar
	// Peer is host:port where other nodes reach this one; empty: it is alone.
	Peer string
	// Neighbours tells about other nodes and lets people take one out of service; nil:
	// the broker is alone.
	Neighbours Neighbours

	// Replication is how the broker follows leaders.
	Replication Replication

	// Static are Kafka's broker keys from the config file.
	Static config.Static
	// Retention decides which segments may go; nil: none goes.
	Retention storage.Retention
	// Plugins may run beside the broker's own code.
	Plugins Plugins
	// Security says what clients may do; the zero value: everything.
	Security Security

	// ClientTelemetry takes the metrics that clients push (KIP-714) and shows them on
	// the admin listener; else clients are not told that they could.
	ClientTelemetry bool

	// AdminAddress is where the HTTP listener binds, host:port; empty: none.
	AdminAddress string
	// AdminToken is what a change of plugins there needs, AdminTokenFile where people
	// find it; empty: nobody may change anything.
	AdminToken, AdminTokenFile string
	// AdminConfig are the values that it shows; nil: none.
	AdminConfig func() []ConfigValue
	// Profiling serves the profiles of Go's runtime there.
	Profiling bool
	// Version is what the start logs and /v1/version says.
	Version Version

	// OpenFiles bounds the handles that idle segments hold; 0: half of the
	// process's limit.
	OpenFiles int
}

// ConfigValue is one setting with its origin, for the admin listener.
type ConfigValue = admin.Value

// Version is the build.
type Version = admin.Version

// The pages of the admin listener: /v1/health, /v1/topics/NAME, /v1/cluster with its
// parts, /v1/plugins and what goes in and out of changes there.
type (
	HealthReport      = admin.Health
	TopicReport       = admin.Topic
	ClusterReport     = admin.Cluster
	ClusterNode       = admin.Node
	ClusterGossip     = admin.Gossip
	ClusterRaft       = admin.Raft
	ClusterListener   = admin.NodeListener
	ClusterPartitions = admin.PartitionCounters
	DrainReport       = admin.Drained
	PluginList        = admin.PluginList
	PluginReport      = admin.Plugin
	PluginAction      = admin.PluginAction
	PluginAsk         = admin.PluginAsk
	PluginOutcome     = admin.PluginOutcome
)

// fill puts defaults in the place of zero values.
func (o *Options) fill() {
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	if o.Net == nil {
		o.Net = vnet.OS()
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
}

// check returns all that is wrong with the options.
func (o *Options) check() error {
	errs := []error{checkListeners(o.Listeners), o.checkReplication(), o.checkPlugins()}
	if o.NodeID < 0 {
		errs = append(errs, fmt.Errorf("node id %d: want 0 or more", o.NodeID))
	}
	if len(o.LogDirs) == 0 {
		errs = append(errs, errors.New("no log directory"))
	}
	if o.Control == nil {
		errs = append(errs, errors.New("no meta.Control"))
	}
	return errors.Join(errs...)
}
