package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cmd/internal/daemon"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/settings"
)

func serveCommand(a *app) *cobra.Command {
	var f settingsFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run a broker",
		Long: `Run a broker until SIGTERM or Ctrl-C, which stop it gracefully within
shutdown.timeout; a second one stops it at once. SIGHUP reads the settings again.
The log goes to standard error: text on a terminal, JSON elsewhere or with -o json.

Without a file it serves Kafka clients on 127.0.0.1:9092 and keeps its data in
./mortise-data. With --cluster-listen other nodes can join it, and with --join it joins
them; mortise dev cluster does that for three nodes on this machine.`,
		Example: `  mortise serve
  mortise serve --data /var/lib/mortise --listen 0.0.0.0:9092 --advertise broker1.example.com:9092
  mortise serve --config mortise.yaml
  mortise serve --node-id 2 --data two --listen 127.0.0.1:9093 --admin-address 127.0.0.1:9645 --cluster-listen 127.0.0.1:9391 --join 127.0.0.1:9390`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.serve(a, c) },
	}
	f.add(c)
	return c
}

// serve starts a node and keeps it alive until a signal.
func (f *settingsFlags) serve(a *app, c *cobra.Command) error {
	now, err := f.load(c)
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	format := now.Log.Format
	if format == "auto" && a.format == output.JSON {
		format = "json"
	}
	log := daemon.NewLogger(a.err, format, level)
	if err := daemon.SetLevel(level, now.Log.Level); err != nil {
		return err
	}
	signals := a.signals
	if signals == nil {
		own := make(chan os.Signal, 2)
		signal.Notify(own, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer signal.Stop(own)
		signals = own
	}
	registry := metrics.NewRegistry()
	running := newRunningNode(now, registry)
	options := nodeOptions(log, now, running.values)
	options.Broker.Metrics = registry
	if err := joinOptions(&options, now); err != nil {
		return err
	}
	node, err := cluster.Start(c.Context(), options)
	if err != nil {
		return startHint(err)
	}
	running.node, running.level, running.log = node, level, log
	return daemon.Process{
		Log:         log,
		Signals:     signals,
		Stop:        node.Close,
		StopTimeout: func() time.Duration { return running.current().Shutdown.Timeout },
		Reload: func() error {
			next, err := f.load(c)
			if err == nil {
				err = running.reload(next)
			}
			if err != nil {
				running.refused.Add(1)
			}
			return err
		},
	}.Run()
}

// startHint adds to an error of the start which setting may help.
func startHint(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; stop who listens there, or choose another address: listeners or --listen for clients, admin.address or --admin-address for HTTP", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w; this machine has no such address: bind one that it has, or 0.0.0.0, and tell clients another with advertised or --advertise", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; give this user the right to write there, or choose another folder with data.dir or --data", err)
	}
	return err
}

// nodeOptions turns settings into what a node is made of.
func nodeOptions(log *slog.Logger, s *settings.Settings, values func() []broker.ConfigValue) cluster.Options {
	v := buildVersion()
	o := cluster.Options{
		DataDir:   s.Data.Dir,
		ClusterID: s.Cluster.ID,
		Broker: broker.Options{
			Log: log, NodeID: s.Node.ID, Rack: s.Node.Rack, LogDirs: s.Data.LogDirs,
			Static: static(s), Retention: builtinRetention(),
			Security:        broker.Security{SuperUsers: s.Security.SuperUsers, Plugins: s.Security.Authorizers},
			Plugins:         plugins(s),
			ClientTelemetry: s.Telemetry.Clients,
			AdminAddress:    s.Admin.Address, AdminConfig: values, Profiling: s.Admin.Profiling,
			Version: broker.Version{Version: v.Version, Commit: v.Commit, Go: v.Go, Kafka: v.Kafka},
		},
	}
	for _, l := range s.Listeners {
		host, port := l.AdvertisedHostPort()
		o.Broker.Listeners = append(o.Broker.Listeners, broker.Listener{
			Name: l.Name, Address: l.Address, AdvertisedHost: host, AdvertisedPort: port, SASL: sasl(l),
		})
	}
	return o
}

// plugins are what may run beside the broker's own code.
func plugins(s *settings.Settings) broker.Plugins {
	return broker.Plugins{Builtins: builtins(), Catalogue: s.Plugins.Catalogue, RunDir: s.Plugins.RunDir, AllowUnverified: s.Plugins.AllowUnverified}
}

// sasl is how the clients of a listener log in; nil: they do not.
func sasl(l settings.Listener) *broker.SASL {
	if l.Authenticator == "" {
		return nil
	}
	return &broker.SASL{Mechanisms: []string{"PLAIN"}, Plugin: l.Authenticator, SuperUsers: l.SuperUsers}
}

// static are Kafka's keys with what our own settings mean in Kafka's terms.
func static(s *settings.Settings) config.Static {
	values := config.Static{config.DurabilityKey: string(s.Durability)}
	for key, value := range s.Defaults {
		values[key] = value
	}
	return values
}
