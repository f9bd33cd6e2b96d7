package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
)

// Bounds of waiting for the other brokers.
const (
	rollOutWait  = 30 * time.Second // a broker gives a start less
	rollOutEvery = 100 * time.Millisecond
)

// changeView is what a change came to on every broker.
type changeView struct {
	broker.PluginOutcome
	Others []otherOutcome `json:"others,omitempty"`
}

// otherOutcome is what a change came to on a broker that was not asked for it.
type otherOutcome struct {
	Broker   int32            `json:"broker"`
	State    pluginhost.State `json:"state,omitempty"`     // empty: the entry is gone
	Problem  string           `json:"problem,omitempty"`   // why it does not run as the entry says
	NotKnown string           `json:"not_known,omitempty"` // why nobody knows
}

// problem is an error for each broker on which a plugin does not serve as its entry
// says.
func (v *changeView) problem(name string, asked int32) error {
	all := []error{}
	add := func(id int32, problem string) {
		if problem != "" {
			all = append(all, fmt.Errorf("%s: the entry is changed, but on broker %d the plugin does not serve as it says: %s", name, id, problem))
		}
	}
	add(asked, v.Problem)
	for _, o := range v.Others {
		add(o.Broker, o.Problem)
	}
	return errors.Join(all...)
}

// printOthers says on which other brokers it is the same, and of which that is not
// known.
func printOthers(w writer, all []otherOutcome) error {
	var same, unknown []string
	for _, o := range all {
		switch id := strconv.Itoa(int(o.Broker)); {
		case o.NotKnown != "":
			unknown = append(unknown, fmt.Sprintf("of broker %s it is not known: %s", id, o.NotKnown))
		case o.Problem == "":
			same = append(same, id)
		}
	}
	if len(same) > 0 {
		unknown = append([]string{"the same on broker " + strings.Join(same, ", ")}, unknown...)
	}
	if len(unknown) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(w, strings.Join(unknown, "\n"))
	return err
}

// rollOut waits until the other brokers of the cluster have carried out a change, of
// which made is the entry afterwards (nil: it is gone), and tells how that went.
func (a *app) rollOut(ctx context.Context, d *pluginDesk, name string, made *broker.PluginReport) []otherOutcome {
	ctx, cancel := context.WithTimeout(ctx, rollOutWait)
	defer cancel()
	others := d.others(ctx)
	all := make([]otherOutcome, len(others))
	var wg sync.WaitGroup
	for i, o := range others {
		wg.Go(func() { all[i] = o.follow(ctx, name, made) })
	}
	wg.Wait()
	return all
}

// otherBroker is a broker of a cluster and where its admin listener should be.
type otherBroker struct {
	id               int32
	cluster, address string
}

// others are the other brokers of the cluster that are up, as the desk's broker knows
// them.
func (d *pluginDesk) others(ctx context.Context) (all []otherBroker) {
	page, err := adminhttp.Get[broker.ClusterReport](ctx, d.address, "/v1/cluster")
	if err != nil {
		return nil // who has no such page is alone
	}
	for _, n := range page.Nodes {
		if n.ID == d.list.Broker || n.Epoch < 0 || n.State == nodeFenced {
			continue
		}
		o := otherBroker{id: n.ID, cluster: d.list.ClusterID}
		if at := othersListeners([]broker.ClusterNode{n}, nil); len(at) > 0 {
			o.address = at[0]
		}
		all = append(all, o)
	}
	return all
}

// list is what the broker says of its plugins.
func (o *otherBroker) list(ctx context.Context) (broker.PluginList, error) {
	if o.address == "" {
		return broker.PluginList{}, errors.New("it has no admin listener")
	}
	list, err := adminhttp.Get[broker.PluginList](ctx, o.address, "/v1/plugins")
	switch {
	case err != nil:
		return list, fmt.Errorf("no admin listener at %s: %w", o.address, err)
	case list.Platform != "" && (list.Broker != o.id || list.ClusterID != o.cluster):
		return list, fmt.Errorf("at %s, where its admin listener should be, is that of broker %d", o.address, list.Broker)
	}
	return list, nil
}

// follow waits until the broker has carried out a change.
func (o *otherBroker) follow(ctx context.Context, name string, made *broker.PluginReport) otherOutcome {
	out := otherOutcome{Broker: o.id}
	look := time.NewTicker(rollOutEvery)
	defer look.Stop()
	for {
		list, err := o.list(ctx)
		switch {
		case ctx.Err() != nil:
			out.Problem = fmt.Sprintf("it has not carried out the change after %v", rollOutWait)
			return out
		case err != nil:
			out.NotKnown = err.Error()
			return out
		case carriedOut(&list, name, made, &out):
			return out
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// carriedOut says whether a broker has carried out a change, and what came of it.
func carriedOut(list *broker.PluginList, name string, made *broker.PluginReport, out *otherOutcome) bool {
	p, err := (&pluginDesk{list: *list}).find(name)
	switch {
	case list.Platform == "":
		return false // plugins do not run yet
	case made == nil || made.From != fromCluster:
		return err != nil || p.From != fromCluster
	case err != nil || p.Changed < made.Changed || list.Applied < p.Changed:
		return false
	}
	out.State, out.Problem = p.State, p.Reason
	if out.Problem == "" && p.Enabled && !p.Serves() {
		out.Problem = "it is " + string(p.State)
	}
	return true
}

// fromCluster is where an entry of the cluster's catalogue comes from.
const fromCluster = "cluster"

// allDesks are the desks of all brokers: those that were named or guessed, and the
// others of their cluster.
func (a *app) allDesks(ctx context.Context) (desks []pluginDesk, missing error) {
	desks, missing = a.pluginDesks(ctx)
	if len(desks) == 0 {
		return nil, missing
	}
	known := map[int32]bool{}
	for _, d := range desks {
		known[d.list.Broker] = true
	}
	var silent []error
	for _, o := range desks[0].others(ctx) {
		if known[o.id] {
			continue
		}
		list, err := o.list(ctx)
		if err == nil && list.Platform == "" {
			err = errors.New("it does not run plugins yet")
		}
		if err != nil {
			silent = append(silent, fmt.Errorf("broker %d: %w", o.id, err))
			continue
		}
		desks = append(desks, pluginDesk{o.address, list})
	}
	return desks, errors.Join(append([]error{missing}, silent...)...)
}
