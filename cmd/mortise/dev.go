package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cluster/local"
	"github.com/mortisemq/mortise/cmd/internal/output"
)

// Bounds of a cluster for trying out.
const (
	devStartWait = 2 * time.Minute
	devStopWait  = 30 * time.Second
	devBaseMin   = 1024
	devBaseMax   = 60000
)

func devCommand(a *app) *cobra.Command {
	return group("dev", "Things for trying Mortise out", devClusterCommand(a))
}

// devFlags say what the cluster is like.
type devFlags struct {
	nodes, base int
	dir         string
	defaults    []string
}

// devView is a cluster that runs, as it is printed.
type devView struct {
	Dir     string    `json:"dir"`
	Brokers string    `json:"brokers"`
	Admin   string    `json:"admin"`
	Nodes   []devNode `json:"nodes"`
}

type devNode struct {
	ID       int    `json:"id"`
	PID      int    `json:"pid"`
	Clients  string `json:"clients"`
	Admin    string `json:"admin"`
	Peer     string `json:"peer"`
	Settings string `json:"settings"`
	Log      string `json:"log"`
}

func devClusterCommand(a *app) *cobra.Command {
	f := devFlags{}
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Run a cluster of several nodes on this machine, until Ctrl-C",
		Long: `Run a cluster of several nodes on this machine, each a process of this program, until
Ctrl-C ends them all. Node i serves clients on port P+i-1; topics get three replicas by
themselves. Each node has a folder with its settings file, its log and its data: look
into the settings to see what makes a cluster.

Without --data all of it is in a folder for temporary files, which is removed at the
end. With --data it stays, and the next start takes it up again.

Try what happens when a node dies: kill -9 one of the processes, and watch mortise cluster
status. mortise serve --config FOLDER/node-2/mortise.yaml starts it again.`,
		Example: `  mortise dev cluster
  mortise dev cluster --nodes 3 --data ./three --base-port 9092`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(a, c.Context()) },
	}
	c.Flags().IntVarP(&f.nodes, "nodes", "n", 3, "how many nodes")
	c.Flags().StringVar(&f.dir, "data", "", "the folder for all nodes; without it one that is removed at the end")
	c.Flags().IntVar(&f.base, "base-port", 9092, "the port of node 1 for clients; those of the others follow it")
	c.Flags().StringArrayVar(&f.defaults, "default", nil, "a broker key of Kafka for all nodes, KEY=VALUE; may be given again")
	return c
}

// check refuses what can't be.
func (f *devFlags) check() (map[string]string, error) {
	if f.nodes < 1 || f.nodes > local.NodesMax {
		return nil, output.Usagef("--nodes %d is not between 1 and %d", f.nodes, local.NodesMax)
	}
	if f.base < devBaseMin || f.base > devBaseMax {
		return nil, output.Usagef("--base-port %d is not between %d and %d", f.base, devBaseMin, devBaseMax)
	}
	defaults := map[string]string{}
	for _, d := range f.defaults {
		key, value, ok := strings.Cut(d, "=")
		if !ok {
			return nil, output.Usagef("%q is not KEY=VALUE", d)
		}
		defaults[key] = value
	}
	return defaults, nil
}

// run runs the cluster until a signal.
func (f *devFlags) run(a *app, ctx context.Context) (err error) {
	defaults, err := f.check()
	if err != nil {
		return err
	}
	signals := a.signals
	if signals == nil {
		own := make(chan os.Signal, 2)
		signal.Notify(own, syscall.SIGINT, syscall.SIGTERM)
		defer signal.Stop(own)
		signals = own
	}
	ports := local.PortsFrom(f.base, f.nodes)
	if taken := local.Taken(ports); len(taken) > 0 {
		return fmt.Errorf("somebody listens at %v already: stop who does, or choose another --base-port", taken)
	}
	dir := f.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "mortise-dev-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	nodes, err := local.New(local.Options{Binary: binary, Dir: dir, Ports: ports, Defaults: defaults})
	if err != nil {
		return err
	}
	return runLocal(a, ctx, nodes, dir, signals)
}

// runLocal starts the nodes, tells where they are, and ends them at a signal.
func runLocal(a *app, ctx context.Context, nodes *local.Cluster, dir string, signals <-chan os.Signal) error {
	defer nodes.Kill() //nolint:errcheck // those that are gone are gone
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case s := <-signals:
			stop(errSignal{s})
		case <-ctx.Done():
		}
	}()
	start, cancel := context.WithTimeout(ctx, devStartWait)
	defer cancel()
	if err := nodes.Start(start); err != nil {
		if asked := (errSignal{}); errors.As(context.Cause(ctx), &asked) {
			return nil
		}
		return err
	}
	if err := devShow(a, nodes, dir); err != nil {
		return err
	}
	watch(ctx, a.err, nodes)
	fmt.Fprintln(a.err, "stopping")
	end, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), devStopWait)
	defer cancelEnd()
	return nodes.Stop(end)
}

// errSignal says that somebody wants the end.
type errSignal struct{ os.Signal }

// Error implements error.
func (e errSignal) Error() string { return e.String() }

// watch tells of nodes that end, until ctx ends. A node that ends is not started again:
// seeing what then happens is what the cluster is for.
func watch(ctx context.Context, w writer, nodes *local.Cluster) {
	for _, n := range nodes.Nodes() {
		go func() {
			select {
			case <-n.Ended():
				if ctx.Err() == nil {
					fmt.Fprintf(w, "node %d has ended; its log is %s; to start it again: mortise serve --config %s\n", n.ID, n.LogFile(), n.SettingsFile())
				}
			case <-ctx.Done():
			}
		}()
	}
	<-ctx.Done()
}

// devShow prints where the nodes are.
func devShow(a *app, nodes *local.Cluster, dir string) error {
	v := devView{Dir: dir, Brokers: strings.Join(nodes.Brokers(), ",")}
	rows := [][]string{}
	var admins []string
	for _, n := range nodes.Nodes() {
		v.Nodes = append(v.Nodes, devNode{n.ID, n.PID(), n.Clients(), n.Admin(), n.Peer(), n.SettingsFile(), n.LogFile()})
		rows = append(rows, []string{fmt.Sprint(n.ID), fmt.Sprint(n.PID()), n.Clients(), n.Admin(), n.Peer(), n.SettingsFile()})
		admins = append(admins, n.Admin())
	}
	v.Admin = strings.Join(admins, ",")
	return a.printer().Value(v, func(w writer) error {
		if err := output.Table(w, []string{"NODE", "PID", "CLIENTS", "ADMIN", "PEER", "SETTINGS"}, rows); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, `
In another terminal:

  export MORTISE_BROKERS=%s MORTISE_ADMIN=%s
  mortise cluster status
  mortise topic create greetings --partitions 6
  echo hello | mortise produce greetings
  mortise topic describe greetings

Ctrl-C ends the cluster.
`, v.Brokers, v.Admin)
		return err
	})
}
