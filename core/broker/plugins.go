package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/internal/retention"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Plugins are what the broker may run beside its own code.
type Plugins struct {
	Builtins []plugin.Plugin // compiled in
	// Catalogue has the entries of this broker's settings. An entry of the cluster's
	// catalogue with the same name takes the place of one here.
	Catalogue []pluginhost.Spec
	// RunDir is where processes have their private directories; its path is short.
	// Empty: the system's for temporary files.
	RunDir string
	// KeepDir is where programs that have served are kept for a rollback; empty: nowhere.
	KeepDir string
	// AllowUnverified lets binaries run without a digest.
	AllowUnverified bool
	// Bake is for how long what an upgrade replaced may come back by itself; 0: the
	// supervisor's default.
	Bake time.Duration
}

// pluginsStart bounds how long a start waits for plugins. Those that need longer go
// on starting; what depends on them stays closed meanwhile.
const pluginsStart = 15 * time.Second

// plugins keeps the supervisor's entries as settings and the cluster say.
type plugins struct {
	b      *Broker
	own    []pluginhost.Spec // Plugins.entries, which cost an instance of each built-in
	host   *pluginhost.Host
	cancel context.CancelFunc
	stop   func()        // ends the watching of the image
	wake   chan struct{} // the catalogue is another one
	done   chan struct{} // closed when run has ended
	first  chan struct{} // closed when the first catalogue was applied

	applied applied
}

// startPlugins runs what the catalogue says, and gives authorizers the cluster's
// rules. It waits a while until they serve; no plugin can stop the start of the broker.
func (b *Broker) startPlugins(ctx context.Context) {
	wait, stop := context.WithCancel(ctx)
	defer stop()
	timer := b.options.Clock.AfterFunc(pluginsStart, stop)
	defer timer.Stop()
	b.runPlugins(ctx)
	ready := b.plugins.await(wait)
	b.authorize()
	if b.authorizer != nil {
		ready = b.authorizer.Await(wait) && ready
	}
	if !ready {
		b.log("plugins").Warn("plugins are still starting; what needs them stays closed until they serve")
	}
}

// runPlugins begins to run what the catalogue says.
func (b *Broker) runPlugins(ctx context.Context) {
	o := &b.options
	p := &plugins{b: b, own: o.Plugins.entries(), wake: make(chan struct{}, 1), done: make(chan struct{}), first: make(chan struct{}),
		applied: applied{fresh: make(chan struct{})},
		host: pluginhost.New(pluginhost.Options{Builtins: o.Plugins.Builtins, Dir: o.Plugins.RunDir, Keep: o.Plugins.KeepDir, Bake: o.Plugins.Bake,
			AllowUnverified: o.Plugins.AllowUnverified, ClusterID: b.image().ClusterID, BrokerID: int32(o.NodeID),
			Clock: o.Clock, Log: b.log("plugins"), Metrics: o.Metrics})}
	b.plugins = p
	b.shown.plugins.Store(p)
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	go p.run(running)
	seen := false
	var epoch uint64
	p.stop = o.Control.Watch(func(i *meta.Image) {
		if seen && i.PluginEpoch == epoch {
			return
		}
		seen, epoch = true, i.PluginEpoch
		select {
		case p.wake <- struct{}{}:
		default:
		}
	})
}

// await waits until the first catalogue was applied; false: ctx ended before.
func (p *plugins) await(ctx context.Context) bool {
	select {
	case <-p.first:
		return true
	case <-ctx.Done():
		return false
	}
}

// close ends all plugins.
func (p *plugins) close(ctx context.Context) error {
	p.stop()
	p.cancel()
	<-p.done
	return p.host.Close(ctx)
}

// run applies the catalogue whenever it is another one.
func (p *plugins) run(ctx context.Context) {
	defer close(p.done)
	applied, told := false, map[string]string{} // why entries do not serve, as the log was told
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		epoch := p.b.image().PluginEpoch
		var specs []pluginhost.Spec
		for _, w := range p.wanted() { // of this epoch or a newer one
			specs = append(specs, w.spec)
		}
		results := p.host.Apply(ctx, specs)
		p.applied.note(epoch, results)
		if ctx.Err() == nil {
			told = p.tell(results, told)
		}
		if !applied {
			applied = true
			close(p.first)
		}
	}
}

// tell logs why entries do not serve as the catalogue says, once for each reason: other
// entries may change many times before somebody can help. It returns what is told.
func (p *plugins) tell(results []pluginhost.Result, before map[string]string) map[string]string {
	told := map[string]string{}
	for _, r := range results {
		if r.Err == nil {
			continue
		}
		told[r.Name] = r.Err.Error()
		if before[r.Name] != told[r.Name] {
			p.b.log("plugins").Error("plugin does not serve as the catalogue says", "name", r.Name, "error", r.Err)
		}
	}
	return told
}

// entries are those of the settings, and one for each compiled-in partitioner and
// retention that needs no config, under its own name, unless another has the name: so
// that topics can name them as they are.
func (o *Plugins) entries() []pluginhost.Spec {
	specs := slices.Clone(o.Catalogue)
	for _, p := range o.Builtins {
		named := slices.ContainsFunc(specs, func(s pluginhost.Spec) bool { return s.Name == p.Name })
		if named || p.Kind != plugin.Partitioner && p.Kind != plugin.Retention || p.Try(context.Background(), json.RawMessage("{}")) != nil {
			continue
		}
		specs = append(specs, pluginhost.Spec{Name: p.Name, Kind: p.Kind, Builtin: p.Name, Enabled: true})
	}
	return specs
}

// parsePluginEntry reads the spec of an entry of the cluster's catalogue. A field that
// this broker does not know is an error: leaving it out could let a plugin do more
// than its operator wanted.
func parsePluginEntry(entry *meta.PluginEntry) (pluginhost.Spec, error) {
	spec, err := pluginhost.ParseSpec([]byte(entry.Spec))
	if err == nil && spec.Name != entry.Name {
		err = fmt.Errorf("its spec is for %q", spec.Name)
	}
	return spec, err
}

// partitioner finds a partitioner by name.
func (p *plugins) partitioner(name string) (partitioner.Partitioner, bool) {
	return p.host.Partitioner(name)
}

// retentionRule finds a retention plugin by name.
func (p *plugins) retentionRule(name string) (retention.Rule, bool) {
	r, found := p.host.Retention(name)
	if !found {
		return retention.Rule{}, false
	}
	return retention.Rule{Retention: r, Committed: r.Has(storage.FeatureCommitted), Topics: r.Has(storage.FeatureTopics)}, true
}

// checkPlugins returns what is wrong with the catalogue of the settings, and with
// names that it does not have.
func (o *Options) checkPlugins() error {
	var errs []error
	for i := range o.Plugins.Catalogue {
		s := &o.Plugins.Catalogue[i]
		errs = append(errs, s.Check())
		if slices.ContainsFunc(o.Plugins.Catalogue[:i], func(e pluginhost.Spec) bool { return e.Name == s.Name }) {
			errs = append(errs, fmt.Errorf("plugin %s: two entries have this name", s.Name))
		}
	}
	return errors.Join(errs...)
}
