package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cmd/internal/daemon"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/settings"
)

// runningNode is a node with the settings that are in force.
type runningNode struct {
	node  *cluster.Node
	level *slog.LevelVar
	log   *slog.Logger

	reloaded, refused *metrics.Counter
	loaded            *metrics.Gauge // when what is in force was read, in seconds since 1970

	mu       sync.Mutex
	settings *settings.Settings // guarded by mu; keys that wait for a restart as they were at the start
}

func (r *runningNode) current() *settings.Settings {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings
}

// newRunningNode is a node that is about to start with the settings.
func newRunningNode(s *settings.Settings, r *metrics.Registry) *runningNode {
	const name, help = "mortise_settings_reloads_total", "Times that settings were read again, by result: a refused reload changed nothing."
	n := &runningNode{
		settings: s,
		reloaded: r.Counter(name, help, "result", "ok"),
		refused:  r.Counter(name, help, "result", "refused"),
		loaded:   r.Gauge("mortise_settings_loaded_seconds", "When the settings in force were read, in seconds since 1970."),
	}
	n.loaded.Set(time.Now().Unix())
	return n
}

// values are the settings for the admin listener.
func (r *runningNode) values() []broker.ConfigValue {
	var out []broker.ConfigValue
	for _, v := range r.current().Values() {
		out = append(out, broker.ConfigValue{Key: v.Key, Value: v.Value, Origin: v.Origin})
	}
	return out
}

// reload puts the live part of next in force and says what waits for a restart.
func (r *runningNode) reload(next *settings.Settings) error {
	changes := settings.Changes(r.current(), next)
	keys, err := gossipKeys(next)
	if err == nil {
		err = r.node.SetGossipKeys(keys)
	}
	if err != nil {
		return err // nothing has changed yet
	}
	if err := daemon.SetLevel(r.level, next.Log.Level); err != nil {
		return err
	}
	r.node.Reconfigure(static(next)) // what it leaves for a restart is in changes
	r.mu.Lock()
	r.settings = settings.InForce(r.settings, next)
	r.mu.Unlock()
	for _, c := range changes {
		if c.Restart {
			r.log.Warn("a changed setting waits for a restart", "key", c.Key, "from", c.From, "to", c.To)
		} else {
			r.log.Info("a setting has changed", "key", c.Key, "from", c.From, "to", c.To)
		}
	}
	r.reloaded.Add(1)
	r.loaded.Set(time.Now().Unix())
	r.log.Info("settings reloaded", "changes", len(changes))
	return nil
}
