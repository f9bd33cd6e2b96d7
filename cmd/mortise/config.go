package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/settings"
)

func configCommand(a *app) *cobra.Command {
	return group("config", "Check and show a broker's settings; set configs in a running cluster",
		configCheckCommand(a), configShowCommand(a), configSetCommand(a), configUnsetCommand(a))
}

func configCheckCommand(a *app) *cobra.Command {
	var f settingsFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Check settings as serve would, and start nothing",
		Example: `  mortise config check --config mortise.yaml
  mortise config check --listen 0.0.0.0:9092 --advertise broker1.example.com:9092`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := f.load(c)
			if err != nil {
				return err
			}
			if err := joinOptions(&cluster.Options{}, s); err != nil { // the files that it names
				return err
			}
			return a.printer().Value(map[string]bool{"ok": true}, func(w writer) error {
				_, err := fmt.Fprintln(w, "ok")
				return err
			})
		},
	}
	f.add(c)
	return c
}

func configShowCommand(a *app) *cobra.Command {
	var (
		f    settingsFlags
		keys bool
	)
	c := &cobra.Command{
		Use:   "show",
		Short: "Show every setting with where it came from, or with --keys what there is to set",
		Example: `  mortise config show --config mortise.yaml
  MORTISE_NODE__ID=7 mortise config show -o json
  mortise config show --keys`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if keys {
				return showKeys(a)
			}
			s, err := f.load(c)
			if err != nil {
				return err
			}
			return a.printer().Value(s.Values(), func(w writer) error {
				rows := [][]string{}
				for _, v := range s.Values() {
					rows = append(rows, []string{v.Key, v.Text(), v.Origin})
				}
				return output.Table(w, []string{"KEY", "VALUE", "FROM"}, rows)
			})
		},
	}
	f.add(c)
	c.Flags().BoolVar(&keys, "keys", false, "list every key with its type, default, and whether a change needs a restart")
	return c
}

// keyView is one key of the reference.
type keyView struct {
	Key     string `json:"key"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Restart bool   `json:"restart"`
	Doc     string `json:"doc"`
}

func showKeys(a *app) error {
	var views []keyView
	for _, k := range settings.Keys() {
		views = append(views, keyView{k.Name(), k.Type, settings.Value{Value: k.Default}.Text(), !k.Live, k.Doc})
	}
	for _, k := range config.BrokerKeys() {
		views = append(views, keyView{"defaults " + k.Name, k.Type.String(), k.Default, !k.Live, k.Doc})
	}
	return a.printer().Value(views, func(w writer) error {
		rows := [][]string{}
		for _, v := range views {
			restart := "live"
			if v.Restart {
				restart = "restart"
			}
			rows = append(rows, []string{v.Key, v.Type, v.Default, restart, v.Doc})
		}
		return output.Table(w, []string{"KEY", "TYPE", "DEFAULT", "CHANGE", "MEANING"}, rows)
	})
}

// settingsFlags are the flags that change settings: the file, and the few
// values that people set by hand.
type settingsFlags struct {
	file      string
	listen    string
	advertise string
	join      []string
}

func (f *settingsFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVarP(&f.file, "config", "c", os.Getenv("MORTISE_CONFIG"), "the settings file (environment MORTISE_CONFIG)")
	flags.StringVar(&f.listen, "listen", "", "host:port for clients, in place of the listeners of the file")
	flags.StringVar(&f.advertise, "advertise", "", "host:port that clients are told, with --listen")
	flags.String("data", "", "the folder for everything that the broker keeps")
	flags.String("admin-address", "", "host:port of the HTTP listener; none: \"\"")
	flags.String("node-id", "", "the id of this broker")
	flags.String("cluster-listen", "", "host:port for the other nodes of a cluster; without it the broker is alone")
	flags.StringSliceVar(&f.join, "join", nil, "cluster-listen of nodes of the cluster to join")
	flags.String("gossip-listen", "", "host:port where nodes gossip; without it a free port")
	flags.String("log-level", "", "debug, info, warn or error")
	flags.String("durability", "", "page-cache or fsync")
	complete(c, "durability", string(settings.PageCache), string(settings.Fsync))
	complete(c, "log-level", "debug", "info", "warn", "error")
}

// load reads the settings that the flags, the environment and the file give.
func (f *settingsFlags) load(c *cobra.Command) (*settings.Settings, error) {
	src := settings.Source{Environ: os.Environ(), Flags: map[string]string{}}
	for flag, path := range map[string]string{
		"data": "data/dir", "admin-address": "admin/address", "node-id": "node/id",
		"log-level": "log/level", "durability": "durability",
		"cluster-listen": "cluster/listen", "gossip-listen": "cluster/gossip/listen",
	} {
		if c.Flags().Changed(flag) {
			src.Flags[path] = c.Flags().Lookup(flag).Value.String()
		}
	}
	if len(f.join) > 0 {
		list, err := json.Marshal(f.join)
		if err != nil {
			return nil, err
		}
		src.Flags["cluster/join"] = string(list)
	}
	if f.advertise != "" && f.listen == "" {
		return nil, output.Usagef("--advertise goes with --listen")
	}
	if f.listen != "" {
		src.Flags["listeners"] = f.listener()
	}
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, &output.UsageError{Err: err}
		}
		src.File, src.FileText = f.file, text
	}
	s, err := settings.Load(src)
	if err != nil {
		return nil, &output.UsageError{Err: errors.Join(errors.New("the settings are wrong"), err)}
	}
	return s, nil
}

// listener is --listen and --advertise in the form of the file.
func (f *settingsFlags) listener() string {
	advertised := ""
	if f.advertise != "" {
		advertised = `,"advertised":` + strconv.Quote(f.advertise)
	}
	return `[{"name":"PLAINTEXT","address":` + strconv.Quote(f.listen) + advertised + `}]`
}
