package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func pluginCommand(a *app) *cobra.Command {
	c := group("plugin", "Install, look at and change the plugins of a broker; write and check your own",
		pluginListCommand(a), pluginDescribeCommand(a), pluginLogsCommand(a),
		pluginInstallCommand(a), pluginUpgradeCommand(a))
	c.AddCommand(pluginActionCommands(a)...)
	for _, sub := range c.Commands() {
		a.addAdmin(sub)
	}
	c.AddCommand(pluginCheckCommand(a), pluginNewCommand(a), pluginRunCommand())
	return c
}

// pluginDesk is the admin listener of a broker, as people change plugins by it.
type pluginDesk struct {
	address string
	list    broker.PluginList
}

// pluginAddresses are the admin listeners of --admin, or those where the brokers of
// MORTISE_BROKERS have theirs by default.
func (a *app) pluginAddresses() []string {
	if len(a.listeners) > 0 {
		return splitAll(a.listeners)
	}
	return adminhttp.Guess(hostsOf(splitAll(defaultBrokers())))
}

// pluginDesks are those that answer. missing says who does not.
func (a *app) pluginDesks(ctx context.Context) (desks []pluginDesk, missing error) {
	var silent []string
	for _, answer := range adminhttp.Each[broker.PluginList](ctx, a.pluginAddresses(), "/v1/plugins") {
		switch {
		case answer.Err != nil:
			silent = append(silent, fmt.Sprintf("no admin listener at %s: %v", answer.Address, answer.Err))
		case answer.Page.Platform == "":
			silent = append(silent, fmt.Sprintf("the broker at %s does not run plugins yet; `mortise health` tells how far its start is", answer.Address))
		default:
			desks = append(desks, pluginDesk{answer.Address, answer.Page})
		}
	}
	if len(silent) > 0 {
		missing = fmt.Errorf("%s; --admin or MORTISE_ADMIN names another", strings.Join(silent, "; "))
	}
	return desks, missing
}

// pluginDesk is the first that answers.
func (a *app) pluginDesk(ctx context.Context) (*pluginDesk, error) {
	desks, missing := a.pluginDesks(ctx)
	if len(desks) == 0 {
		return nil, missing
	}
	return &desks[0], nil
}

// find is an entry of the broker.
func (d *pluginDesk) find(name string) (*broker.PluginReport, error) {
	if at := slices.IndexFunc(d.list.Plugins, func(p broker.PluginReport) bool { return p.Name == name }); at >= 0 {
		return &d.list.Plugins[at], nil
	}
	var names []string
	for _, p := range d.list.Plugins {
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("broker %d has no plugin %s; it has %s", d.list.Broker, name, strings.Join(names, ", "))
}

// builtin is a compiled-in plugin of the broker, by NAME or KIND/NAME.
func (d *pluginDesk) builtin(name string) (plugin.Description, bool) {
	for _, b := range d.list.Builtins {
		if b.Name == name || string(b.Kind)+"/"+b.Name == name {
			return b, true
		}
	}
	return plugin.Description{}, false
}

// change asks the broker for a change.
func (d *pluginDesk) change(ctx context.Context, name string, action broker.PluginAction, ask broker.PluginAsk) (broker.PluginOutcome, error) {
	token, err := d.token(ctx)
	if err != nil {
		return broker.PluginOutcome{}, err
	}
	return adminhttp.Post[broker.PluginOutcome](ctx, d.address, "/v1/plugins/"+name+"/"+string(action), token, ask)
}

// tokenFileName is what the file of a token is called. Another file is not read, nor
// is what is in one sent unless it is a token, nor to another machine: who answers at an
// address may be anybody, and name the file of another broker.
const tokenFileName = "admin.token"

// token is what the broker wants from those who change it.
func (d *pluginDesk) token(ctx context.Context) (string, error) {
	return adminToken(ctx, d.address, d.list.TokenFile)
}

// adminToken is what the broker at an admin address wants from those who change it: of
// the environment, or of the broker's own file at path, which its user can read.
func adminToken(ctx context.Context, address, path string) (string, error) {
	if t := os.Getenv("MORTISE_ADMIN_TOKEN"); t != "" {
		return t, nil
	}
	const advice = "changes need the token of the broker: run this as its user on its machine, or put the token into MORTISE_ADMIN_TOKEN"
	if filepath.Base(path) != tokenFileName || !filepath.IsAbs(path) || !adminhttp.Local(ctx, address) {
		return "", errors.New(advice)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w; %s", err, advice)
	}
	token := strings.TrimSpace(string(text))
	if b, err := hex.DecodeString(token); err != nil || len(b) != 32 {
		return "", fmt.Errorf("%s has no token; %s", path, advice)
	}
	return token, nil
}

// completePlugins offers the names of a broker's plugins for at most most arguments.
func (a *app) completePlugins(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionWait)
		defer cancel()
		d, err := a.pluginDesk(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, p := range d.list.Plugins {
			names = append(names, p.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
