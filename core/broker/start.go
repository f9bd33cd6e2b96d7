package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/internal/alterpartition"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/metrics"
)

// Start brings the broker up in the order of the package comment and returns
// when clients are served. ctx bounds the start. After an error Close frees what
// was started.
func (b *Broker) Start(ctx context.Context) error {
	begin := b.options.Clock.Now()
	b.state.Store(int32(stateRecovering))
	b.measureReplication()
	if err := b.startAdmin(); err != nil {
		return err
	}
	if err := b.recover(ctx); err != nil {
		return err
	}
	recovered := b.options.Clock.Now().Sub(begin)
	if err := b.listen(); err != nil {
		return err
	}
	if err := b.register(ctx); err != nil {
		return err
	}
	b.startPlugins(ctx)
	b.serve()
	b.followers.Start(b.registration())
	b.asker.Watch(b.roles.All)
	b.state.Store(int32(stateRunning))
	b.logStart(recovered, b.options.Clock.Now().Sub(begin))
	return nil
}

// startAdmin serves the admin listener, if one is wanted.
func (b *Broker) startAdmin() error {
	if b.options.AdminAddress == "" {
		return nil
	}
	l, err := b.options.Net.Listen(b.options.AdminAddress)
	if err != nil {
		return fmt.Errorf("admin listener: %w", err)
	}
	b.adminListener = l
	drain := b.drainNode
	if b.options.Neighbours == nil {
		drain = nil
	}
	var clients func() []metrics.Family
	if b.telemetry != nil {
		clients = b.telemetry.Shown().Families
	}
	b.admin = admin.New(admin.Options{
		Log: b.log("admin"), Metrics: b.options.Metrics, Version: b.options.Version,
		Ready: b.readiness, Config: b.options.AdminConfig, Partitions: b.partitions, Profiling: b.options.Profiling,
		Topic: b.topic, Health: b.health, Lags: b.lags, Clients: clients, Plugins: b.pluginDesk, Cluster: b.cluster, Drain: drain,
		Token: b.options.AdminToken, TokenFile: b.options.AdminTokenFile, Address: b.options.AdminAddress,
	})
	b.serving.Go(func() {
		if err := b.admin.Serve(l); err != nil {
			b.options.Log.Error("admin listener ended", "error", err)
		}
	})
	return nil
}

// recover opens the log directories and every partition of the present image.
func (b *Broker) recover(ctx context.Context) error {
	o := &b.options
	lag := func() time.Duration { return time.Duration(b.config().Replication.LagTimeMaxMS) * time.Millisecond }
	b.asker = alterpartition.New(alterpartition.Options{Self: o.NodeID, Epoch: b.registration, Cluster: o.Control, Lag: lag,
		Image: b.image, Clock: o.Clock, Log: b.log("alterpartition"), Metrics: o.Metrics})
	dirs, err := logdir.Open(logdir.Options{FS: o.FS, Dirs: o.LogDirs, ClusterID: b.image().ClusterID,
		NodeID: o.NodeID, Clock: o.Clock, Log: b.log("logdir"), Metrics: o.Metrics,
		OnOffline: func(*logdir.Dir) { b.asker.DirectoryFailed() }, OnFull: b.full, OnRoom: b.roomAgain})
	if err != nil {
		return err
	}
	b.shown.dirs.Store(dirs)
	b.dirs = dirs
	b.files = commitlog.NewFiles(b.fileHandles(), o.Metrics)
	b.purgatory = purgatory.New(purgatory.Options{Clock: o.Clock})
	b.followers = b.newFollowers()
	c := b.config()
	b.roles = reconcile.New(reconcile.Options{Self: o.NodeID, Control: o.Control, FS: o.FS, Dirs: dirs,
		Purgatory: b.purgatory, Config: b.resolver, Files: b.files, Followers: b.followers, ProposeISR: b.asker.Propose, Lag: lag,
		TellFollowers: func() bool { return b.config().Replication.RackAware },
		Producers:     commitlog.NewProducerBudget(0, o.Metrics),
		Clock:         o.Clock, Log: b.log("reconcile"), Metrics: o.Metrics, RecoveryThreads: c.NumRecoveryThreadsPerDataDir})
	b.shown.roles.Store(b.roles)
	defer b.logRecovery()()
	if err := b.roles.Start(ctx); err != nil {
		return err
	}
	b.startMoves() // before anybody appends
	b.groups = coordinator.New(coordinator.Options{Self: o.NodeID, Roles: b.roles, IDs: api.GroupIDs(),
		Config: func() coordinator.Config { return api.GroupConfig(b.config()) },
		Rules:  api.GroupRules(b.config, func(id string) config.Group { return b.resolver.Group(b.image(), id) }),
		Clock:  o.Clock, Log: b.log("coordinator"), Metrics: o.Metrics})
	b.roles.Observe(b.groups.Apply)
	b.shown.lags.Store(b.newLags(b.groups, b.roles))
	return nil
}
