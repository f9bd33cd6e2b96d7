package broker

import (
	"errors"
	"math"
	"net"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/internal/compaction"
	"github.com/mortisemq/mortise/core/internal/partitioning"
	"github.com/mortisemq/mortise/core/internal/quota"
	"github.com/mortisemq/mortise/core/internal/retention"
	"github.com/mortisemq/mortise/core/internal/server"
	"github.com/mortisemq/mortise/core/meta"
)

// Bounds of the handles of segments when Options.OpenFiles is 0.
const (
	fileHandlesDefault = 4096 // where the process's limit is not known
	fileHandlesMax     = 1 << 16
)

// fileHandles is how many handles segments may hold: half of what the process
// has, so that connections have the rest.
func (b *Broker) fileHandles() int {
	if b.options.OpenFiles > 0 {
		return b.options.OpenFiles
	}
	limit := openFileLimit()
	if limit == 0 {
		return fileHandlesDefault
	}
	return min(limit/2, fileHandlesMax)
}

// serve accepts clients and begins the work that has no client.
func (b *Broker) serve() {
	o := &b.options
	c := b.config()
	b.compact() // first: it compares its checkpoints with logs that did not grow yet
	gate := b.newGate()
	deps := api.Deps{Self: o.NodeID, Control: &settled{Control: o.Control, roles: b.roles, rules: b.authorizer},
		Roles: b.roles, Purgatory: b.purgatory, Dirs: b.dirs, Moves: b.moves, Groups: b.groups,
		Config: func() *config.Resolver { return b.resolver }, Clock: o.Clock, Log: b.log("api"), Levels: b.levels, Metrics: o.Metrics, OpenFiles: openFileLimit(), Gate: gate, LeaderThrottle: b.leaderThrottle,
		Telemetry: b.telemetry, Partitioning: partitioning.New(partitioning.Options{Partitioner: b.plugins.partitioner, Log: b.log("partitioning"), Metrics: o.Metrics})}
	if b.authorizer != nil {
		deps.Authorizer = b.authorizer
	}
	b.api = api.New(deps)
	b.server = server.New(server.Options{Handler: b.api, Log: b.log("server"), Clock: o.Clock, Metrics: o.Metrics,
		Limits: b.limits, Budget: quota.NewBudget(quota.Limit(c.QueuedMaxRequestBytes)),
		Versions: b.api.Versions, Nature: nature, Gone: b.api.Gone, HTTPHint: b.httpHint()})
	for n, l := range b.listeners {
		name := o.Listeners[n].Name
		b.serving.Go(func() {
			if err := b.server.Serve(l, name, gate.First(name)); err != nil && !errors.Is(err, net.ErrClosed) {
				o.Log.Error("listener ended", "name", name, "error", err)
			}
		})
	}
	b.retention = retention.New(retention.Options{Partitions: b.roles.All, Retention: o.Retention,
		Rule: b.plugins.retentionRule, Committed: b.committed,
		Config: func(topic string) map[string]string {
			return b.image().Config(meta.Resource{Type: meta.ResourceTopic, Name: topic})
		},
		Interval: func() time.Duration { return time.Duration(b.config().LogRetentionCheckIntervalMS) * time.Millisecond },
		Clock:    o.Clock, Log: b.log("retention"), Metrics: o.Metrics})
	b.retention.Start()
}

// compact keeps the last values of compacted topics from now on.
func (b *Broker) compact() {
	if !b.config().Compaction.Enable {
		return
	}
	o := &b.options
	b.compaction = compaction.New(compaction.Options{Partitions: b.roles.All, Config: b.compactionConfig,
		Moving: b.moves.Moving, Clock: o.Clock, Log: b.log("compaction"), Metrics: o.Metrics})
	b.compaction.Start()
	b.shown.compaction.Store(b.compaction)
}

// compactionConfig is how to compact, by the config of this moment.
func (b *Broker) compactionConfig() compaction.Config {
	c := b.config().Compaction
	return compaction.Config{
		Threads: c.Threads, MapBytes: c.MapBytes, MapLoad: c.MapLoad, BufferBytes: c.BufferBytes,
		BytesPerSecond: c.BytesPerSecond, Backoff: time.Duration(c.BackoffMS) * time.Millisecond,
	}
}

// limits are what clients can take, by the config of this moment.
func (b *Broker) limits() server.Limits {
	c := b.config()
	return server.Limits{
		RequestMaxBytes:              int32(min(c.SocketRequestMaxBytes, math.MaxInt32)),
		SendBufferBytes:              c.SocketSendBufferBytes,
		ReceiveBufferBytes:           c.SocketReceiveBufferBytes,
		MaxConnections:               int(c.MaxConnections),
		MaxConnectionsPerIP:          int(c.MaxConnectionsPerIP),
		MaxConnectionsPerIPOverrides: c.MaxConnectionsPerIPOverrides,
		IdleTimeout:                  time.Duration(c.ConnectionsMaxIdleMS) * time.Millisecond,
	}
}

// httpHint is where somebody who speaks HTTP to a client listener should go.
func (b *Broker) httpHint() string {
	if b.adminListener == nil {
		return ""
	}
	return "http://" + b.adminListener.Addr().String()
}
