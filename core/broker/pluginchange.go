package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
)

// changeWait bounds how long a change waits for its plugin. Package pluginhost gives
// a start less than that, unless several entries start at once.
const changeWait = 25 * time.Second

// Change implements admin.Plugins.
func (p *plugins) Change(ctx context.Context, name string, action admin.PluginAction, ask admin.PluginAsk) (admin.PluginOutcome, error) {
	now, exists := p.entry(name)
	switch {
	case ask.Changed != nil && *ask.Changed != now.changed:
		return admin.PluginOutcome{}, fmt.Errorf("%w: %s was changed by somebody else meanwhile (change %d, seen %d); look at it again", admin.ErrConflict, name, now.changed, *ask.Changed)
	case !exists && action != admin.PluginInstall:
		return admin.PluginOutcome{}, fmt.Errorf("%w: no entry %s", admin.ErrNotFound, name)
	case len(ask.Entry) > 0 && action != admin.PluginInstall && action != admin.PluginUpgrade:
		return admin.PluginOutcome{}, fmt.Errorf("%w: %s takes no entry", admin.ErrInvalid, action)
	case action == admin.PluginRestart:
		return p.again(ctx, name, ask.DryRun)
	case action == admin.PluginInstall && exists && now.from == admin.FromCluster:
		return admin.PluginOutcome{}, fmt.Errorf("%w: there is an entry %s; upgrade it, or remove it first", admin.ErrConflict, name)
	case exists && now.from == admin.FromSettings && action == admin.PluginRemove:
		return admin.PluginOutcome{}, fmt.Errorf("%w: %s is an entry of this broker's settings: take it out of the file and start the broker again", admin.ErrConflict, name)
	case exists && now.from == admin.FromSettings && !ask.Override:
		return admin.PluginOutcome{}, fmt.Errorf("%w: %s is an entry of this broker's settings: change the file, or ask to override it, which puts an entry of the cluster over it on every broker", admin.ErrConflict, name)
	case exists && now.from == admin.FromBuiltin && action == admin.PluginRemove:
		return admin.PluginOutcome{}, fmt.Errorf("%w: %s is compiled in; it can be disabled", admin.ErrConflict, name)
	case action == admin.PluginRemove:
		return p.put(ctx, now, nil, admin.PluginOutcome{DryRun: ask.DryRun})
	}
	next, err := p.next(ctx, now, action, &ask)
	if err != nil {
		return admin.PluginOutcome{}, err
	}
	outcome := admin.PluginOutcome{DryRun: ask.DryRun}
	if next.Enabled && action != admin.PluginRollback {
		about, err := p.host.Try(ctx, next)
		if err != nil {
			return outcome, fmt.Errorf("%w: %w", admin.ErrInvalid, err)
		}
		outcome.Found = &about
	}
	return p.put(ctx, now, next, outcome)
}

// entry is the present one of a name; false: there is none, and the name is all that
// it has.
func (p *plugins) entry(name string) (wanted, bool) {
	all := p.wanted()
	if at := slices.IndexFunc(all, func(w wanted) bool { return w.spec.Name == name }); at >= 0 {
		return all[at], true
	}
	return wanted{spec: pluginhost.Spec{Name: name}}, false
}

// next is the entry as the action makes it, checked.
func (p *plugins) next(ctx context.Context, now wanted, action admin.PluginAction, ask *admin.PluginAsk) (*pluginhost.Spec, error) {
	spec := now.spec
	var err error
	switch action {
	case admin.PluginInstall:
		spec, err = merged(pluginhost.Spec{Name: now.spec.Name, Enabled: true}, ask.Entry)
	case admin.PluginUpgrade:
		if len(bytes.TrimSpace(ask.Entry)) == 0 {
			return nil, fmt.Errorf("%w: nothing to upgrade", admin.ErrInvalid)
		}
		spec, err = merged(spec, ask.Entry)
	case admin.PluginEnable, admin.PluginDisable:
		spec.Enabled = action == admin.PluginEnable
	case admin.PluginRollback:
		return p.back(ctx, now, ask.DryRun)
	}
	if err == nil && spec.Name != now.spec.Name {
		err = fmt.Errorf("the entry is named %q", spec.Name)
	}
	if err == nil {
		err = spec.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", admin.ErrInvalid, err)
	}
	return &spec, nil
}

// merged is an entry with some of its fields replaced; null takes one away.
func merged(spec pluginhost.Spec, fields json.RawMessage) (pluginhost.Spec, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return spec, err
	}
	all, changes := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		return spec, err
	}
	if len(bytes.TrimSpace(fields)) > 0 {
		if err := json.Unmarshal(fields, &changes); err != nil {
			return spec, fmt.Errorf("entry: %w", err)
		}
	}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	if text, err = json.Marshal(all); err != nil {
		return spec, err
	}
	return pluginhost.ParseSpec(text)
}

// back is the entry to go back to: what serves, if that is not what is wanted, else
// what served before. This broker goes back at once, the others by the catalogue.
func (p *plugins) back(ctx context.Context, now wanted, dryRun bool) (*pluginhost.Spec, error) {
	for _, s := range p.host.Status() {
		if s.Name != now.spec.Name {
			continue
		}
		if s.Spec != nil && !equal(s.Spec, &now.spec) {
			return s.Spec, nil
		}
		if dryRun && s.Previous == "" {
			return nil, fmt.Errorf("%w: %s has no version to go back to", admin.ErrConflict, s.Name)
		}
	}
	if dryRun {
		return &now.spec, nil
	}
	spec, err := p.host.Rollback(ctx, now.spec.Name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", admin.ErrConflict, err)
	}
	return &spec, nil
}

// equal says whether two entries are the same text.
func equal(a, b *pluginhost.Spec) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// put writes an entry into the catalogue of the cluster, or takes it out (nil), and
// waits for what comes of it on this broker.
func (p *plugins) put(ctx context.Context, now wanted, next *pluginhost.Spec, outcome admin.PluginOutcome) (admin.PluginOutcome, error) {
	change := meta.PluginChange{Name: now.spec.Name, Previous: now.changed}
	if next != nil {
		text, err := json.Marshal(next)
		if err != nil {
			return outcome, fmt.Errorf("%w: %w", admin.ErrInvalid, err)
		}
		change.Spec = string(text)
	}
	if outcome.DryRun {
		if next != nil {
			outcome.Plugin = &admin.Plugin{Status: pluginhost.Status{Name: next.Name, Kind: next.Kind, State: pluginhost.Stopped, Enabled: next.Enabled, Builtin: next.Builtin != ""},
				From: admin.FromCluster, Changed: now.changed, UsedBy: []string{}, Entry: next}
		}
		return outcome, nil
	}
	errs, err := p.b.options.Control.AlterPlugins(ctx, []meta.PluginChange{change})
	switch {
	case err != nil:
		return outcome, fmt.Errorf("%w: %w", admin.ErrUndecided, err)
	case errs[0] != nil:
		return outcome, fmt.Errorf("%w: %w", admin.ErrConflict, errs[0])
	}
	return p.settle(ctx, change.Name, outcome), nil
}

// again restarts a plugin on this broker.
func (p *plugins) again(ctx context.Context, name string, dryRun bool) (admin.PluginOutcome, error) {
	outcome := admin.PluginOutcome{DryRun: dryRun}
	if dryRun {
		return outcome, fmt.Errorf("%w: a restart has nothing to check beforehand", admin.ErrInvalid)
	}
	ctx, stop := context.WithTimeout(ctx, changeWait)
	defer stop()
	if err := p.host.Restart(ctx, name); err != nil {
		outcome.Problem = problem(err)
	}
	outcome.Plugin = p.one(name)
	return outcome, nil
}

// one is an entry as it is now; nil: there is none.
func (p *plugins) one(name string) *admin.Plugin {
	list := p.List()
	if at := slices.IndexFunc(list.Plugins, func(o admin.Plugin) bool { return o.Name == name }); at >= 0 {
		return &list.Plugins[at]
	}
	return nil
}

// problem is an error for people who waited.
func problem(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("it does not serve after %v and is still being started", changeWait)
	}
	return err.Error()
}
