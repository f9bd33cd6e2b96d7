package broker

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// health tells who waits for a plugin that does not serve, and which entries do not run
// as the catalogue says: of an upgrade, some brokers may have taken it and others not.
func (p *plugins) health(h *admin.Health) {
	u := p.uses()
	list := sync.OnceValue(func() []admin.Plugin { return p.List().Plugins })
	told := map[string]bool{}
	for _, who := range u.order {
		if p.serves(who) {
			continue
		}
		told[who.name] = true
		why := "no entry has this name"
		for i := range list() {
			if one := &list()[i]; one.Name == who.name {
				why = string(one.State)
				if one.Kind != who.kind {
					why = "the entry of this name is of the kind " + string(one.Kind)
				} else if one.Reason != "" {
					why += ": " + one.Reason
				}
			}
		}
		h.Add("plugin-not-serving", fmt.Sprintf("%s: the %s %s does not serve (%s)", strings.Join(u.of(who.kind, who.name), ", "), who.kind, who.name, why),
			closed(who.kind)+" until it does; `mortise plugin describe "+who.name+"` and `mortise plugin logs "+who.name+"` tell more")
	}
	if !p.troubled() {
		return
	}
	for _, one := range list() {
		if one.Reason != "" && !told[one.Name] {
			h.Add("plugin-not-as-wanted", fmt.Sprintf("plugin %s is %s, and not as its entry says: %s", one.Name, one.State, one.Reason),
				"when the cause is gone on this broker, `mortise plugin restart "+one.Name+"` here tries it again; `mortise plugin rollback "+one.Name+"` goes back on every broker")
		}
	}
}

// troubled says whether any entry does not run as the catalogue says. It looks at no
// topic, as List does.
func (p *plugins) troubled() bool {
	return p.applied.refused() || slices.ContainsFunc(p.host.Status(), func(s pluginhost.Status) bool { return s.Reason != "" })
}

// serves says whether somebody of that kind and name answers.
func (p *plugins) serves(who use) bool {
	var generation uint64
	switch who.kind {
	case plugin.Authenticator:
		a, _ := p.host.Authenticator(who.name)
		generation = a.Generation()
	case plugin.Authorizer:
		a, _ := p.host.Authorizer(who.name)
		generation = a.Generation()
	case plugin.Partitioner:
		a, _ := p.host.Partitioner(who.name)
		generation = a.Generation()
	case plugin.Retention:
		a, _ := p.host.Retention(who.name)
		generation = a.Generation()
	}
	return generation != 0
}

// closed says what does not work without a plugin of a kind.
func closed(kind plugin.Kind) string {
	switch kind {
	case plugin.Authenticator:
		return "nobody can log in there"
	case plugin.Authorizer:
		return "only super users may do anything"
	case plugin.Retention:
		return "nothing is deleted there"
	}
	return "nothing is checked there"
}
