package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/internal/partitioning"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// wanted is an entry as it shall run here.
type wanted struct {
	spec    pluginhost.Spec
	from    string // admin.FromCluster, …
	covers  string // where the entry below it comes from; empty: there is none
	changed uint64 // of an entry of the cluster
}

// wanted are all entries of this broker: those of the settings and what is compiled
// in, and the cluster's over them.
func (p *plugins) wanted() []wanted {
	var all []wanted
	for i, spec := range p.own {
		from := admin.FromBuiltin
		if i < len(p.b.options.Plugins.Catalogue) {
			from = admin.FromSettings
		}
		all = append(all, wanted{spec: spec, from: from})
	}
	for entry := range p.b.image().Plugins() {
		w := wanted{from: admin.FromCluster, changed: entry.Changed}
		var err error
		if w.spec, err = parsePluginEntry(entry); err != nil {
			p.b.log("plugins").Error("plugin entry of the cluster can't be read; what serves under its name serves on", "name", entry.Name, "error", err)
			w.spec = pluginhost.Spec{Name: entry.Name} // which is refused, and stops nothing
		}
		at := slices.IndexFunc(all, func(o wanted) bool { return o.spec.Name == entry.Name })
		if at < 0 {
			all = append(all, w)
		} else {
			w.covers = all[at].from
			all[at] = w
		}
	}
	return all
}

// pluginDesk is what the admin listener shows and changes of plugins; nil: they do not
// run yet.
func (b *Broker) pluginDesk() admin.Plugins {
	if p := b.shown.plugins.Load(); p != nil {
		return p
	}
	return nil
}

// List implements admin.Plugins.
func (p *plugins) List() admin.PluginList {
	applied, _ := p.applied.now() // before the statuses: they are of this change or a later one
	list := admin.PluginList{ClusterID: p.b.image().ClusterID, Broker: int32(p.b.options.NodeID),
		Platform: pluginhost.Platform(), Applied: applied, Plugins: []admin.Plugin{}, Builtins: p.host.Builtins()}
	statuses := map[string]pluginhost.Status{}
	for _, s := range p.host.Status() {
		statuses[s.Name] = s
	}
	uses := p.uses()
	for _, w := range p.wanted() {
		one := admin.Plugin{Status: statuses[w.spec.Name], From: w.from, Covers: w.covers, Changed: w.changed, Entry: &w.spec}
		if one.Name == "" { // it never ran: nothing of it is right
			one.Status = pluginhost.Status{Name: w.spec.Name, Kind: w.spec.Kind, State: pluginhost.Stopped, Enabled: w.spec.Enabled, Builtin: w.spec.Builtin != ""}
		}
		if err := p.outcome(w.spec.Name); errors.Is(err, pluginhost.ErrSpec) { // of which the supervisor knows nothing
			one.Reason = err.Error()
		}
		one.UsedBy = append([]string{}, uses.of(one.Kind, one.Name)...)
		list.Plugins = append(list.Plugins, one)
	}
	slices.SortFunc(list.Plugins, func(a, b admin.Plugin) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Logs implements admin.Plugins.
func (p *plugins) Logs(name string) ([]pluginhost.Line, error) { return p.host.Logs(name) }

// Metrics implements admin.Plugins.
func (p *plugins) Metrics(ctx context.Context, name string) ([]byte, error) {
	return p.host.Metrics(ctx, name)
}

// use is a place that names a plugin.
type use struct {
	kind plugin.Kind
	name string
}

// uses are the places that name plugins, by what they name.
type uses struct {
	places map[use][]string // all but topics
	topics map[use]int      // how many name it
	one    map[use]string   // one of these topics
	order  []use            // in the order of their finding
}

// uses finds everybody who names a plugin. It looks at the config of every topic.
func (p *plugins) uses() *uses {
	u := &uses{places: map[use][]string{}, topics: map[use]int{}, one: map[use]string{}}
	for _, l := range p.b.options.Listeners {
		if l.SASL != nil && l.SASL.Plugin != "" {
			u.add(use{plugin.Authenticator, l.SASL.Plugin}, "listener "+l.Name)
		}
	}
	for _, name := range p.b.options.Security.Plugins {
		u.add(use{plugin.Authorizer, name}, "security.authorizers")
	}
	img := p.b.image()
	for r := range img.ConfigResources() {
		if r.Type != meta.ResourceTopic {
			continue
		}
		values := img.Config(r)
		if check := values["mortise.partitioner.check"]; check == "count" || check == "reject" {
			u.topic(use{plugin.Partitioner, cmp.Or(values["mortise.partitioner"], partitioning.DefaultPartitioner)}, r.Name)
		}
		for name := range strings.SplitSeq(values["mortise.retention.plugin"], ",") {
			if name = strings.TrimSpace(name); name != "" {
				u.topic(use{plugin.Retention, name}, r.Name)
			}
		}
	}
	return u
}

// add notes a place.
func (u *uses) add(who use, place string) {
	u.seen(who)
	u.places[who] = append(u.places[who], place)
}

// topic notes a topic.
func (u *uses) topic(who use, name string) {
	u.seen(who)
	if u.topics[who]++; u.topics[who] == 1 {
		u.one[who] = name
	}
}

func (u *uses) seen(who use) {
	if u.places[who] == nil && u.topics[who] == 0 {
		u.order = append(u.order, who)
	}
}

// of are the places that name a plugin, for people.
func (u *uses) of(kind plugin.Kind, name string) []string {
	who := use{kind, name}
	places := slices.Clone(u.places[who])
	switch n := u.topics[who]; {
	case n == 1:
		places = append(places, "topic "+u.one[who])
	case n > 1:
		places = append(places, fmt.Sprintf("topic %s and %d more", u.one[who], n-1))
	}
	return places
}
