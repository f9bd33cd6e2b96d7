package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
)

// healthProblemsMax bounds the problems that are told one by one; all are counted.
const healthProblemsMax = 100

// healthView is the health of a cluster, as it is printed.
type healthView struct {
	Healthy         bool            `json:"healthy"`
	ClusterID       string          `json:"cluster_id"`
	Brokers         int             `json:"brokers"` // that live
	Fenced          []int32         `json:"fenced"`  // that are members of the cluster but not there
	Partitions      int             `json:"partitions"`
	Offline         int             `json:"offline_partitions"`
	UnderReplicated int             `json:"under_replicated_partitions"`
	UnderMinISR     int             `json:"under_min_isr_partitions"`
	FailedCleanings int             `json:"failed_cleanings"`
	LogDirs         []logDirView    `json:"log_dirs"`
	Listeners       []listenerView  `json:"admin_listeners"`
	ProblemsTotal   int             `json:"problems_total"`
	Problems        []healthProblem `json:"problems"` // at most 100
	// NotKnown says what could not be looked at, and why; empty: nothing.
	NotKnown string `json:"not_known,omitempty"`

	answered bool // brokers have told by the protocol what they can
	noDirs   bool // but not of their log directories, which not everybody may see
}

// logDirView is one log directory. Sizes are bytes of its disk; -1: not known.
type logDirView struct {
	Broker         int32  `json:"broker"`
	Path           string `json:"path"`
	TotalBytes     int64  `json:"total_bytes"`
	AvailableBytes int64  `json:"available_bytes"`
	Offline        string `json:"offline,omitempty"`
}

// listenerView is what one admin listener says of its broker.
type listenerView struct {
	Address string `json:"address"`
	Broker  int32  `json:"broker"`
	Ready   bool   `json:"ready"`
	State   string `json:"state"`
	// LogsDone of LogsTotal logs are recovered.
	LogsDone  int64 `json:"recovered_logs"`
	LogsTotal int64 `json:"logs"`
}

// healthProblem is one thing that is wrong, and what to do about it.
type healthProblem struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`
	Advice string `json:"advice"`

	each bool // each partition has it for itself
}

func healthCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Say in one line whether a cluster is healthy; exit with 1 if it is not",
		Long: `Say in one line whether a cluster is healthy, then what is wrong and what to do about
it. The exit code is 1 if anything is wrong.

Brokers are asked by Kafka's protocol, and their admin listeners for what that does not
tell: recovery, cleanings that failed, nodes that are not there, and whether anybody can
decide. One listener names those of the other nodes. Where only --admin is given, only the
listeners are asked; where they were only guessed and do not answer, the rest counts.`,
		Example: `  mortise health
  mortise health -o json
  mortise health --admin 127.0.0.1:9644
  mortise health --brokers broker1.example.com:9092,broker2.example.com:9092`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			named := c.Flags().Changed("brokers") || os.Getenv("MORTISE_BROKERS") != ""
			v := a.health(c.Context(), named || len(a.listeners) == 0)
			return v.print(a)
		},
	}
	a.addBrokers(c)
	a.addAdmin(c)
	return c
}

// health looks at everything; protocol says whether brokers are asked.
func (a *app) health(ctx context.Context, protocol bool) *healthView {
	v := &healthView{Fenced: []int32{}, LogDirs: []logDirView{}, Listeners: []listenerView{}, Problems: []healthProblem{}}
	hosts := hostsOf(splitAll(a.brokers))
	if protocol {
		if found, err := a.askBrokers(ctx, v); err != nil {
			v.addUnreached(a, err)
		} else {
			hosts, v.answered = found, true
		}
	}
	a.askHealth(ctx, v, hosts)
	slices.SortFunc(v.LogDirs, func(a, b logDirView) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Path, b.Path))
	})
	v.Healthy = v.ProblemsTotal == 0
	return v
}

// addUnreached notes why brokers could not be asked: nobody answers, or somebody does
// who wants another login.
func (v *healthView) addUnreached(a *app, err error) {
	told := a.reached(err).Error()
	if a.login.hint(err, a.brokers).Error() != err.Error() {
		v.add("login", told, "log in, so that brokers can be asked too")
		return
	}
	v.add("unreachable", told, "start a broker, or look at why it does not answer")
}

// askHealth adds what admin listeners say.
func (a *app) askHealth(ctx context.Context, v *healthView, hosts []string) {
	addresses, given := splitAll(a.listeners), len(a.listeners) > 0
	if !given {
		addresses = adminhttp.Guess(hosts)
	}
	silent := v.askListeners(ctx, addresses)
	if others := v.askCluster(ctx); len(others) > 0 { // named by those that answered; what was only guessed is forgotten
		more := v.askListeners(ctx, others)
		if silent = append(silent, more...); !given {
			silent = more
		}
	}
	if given {
		for _, text := range silent {
			v.add("listener-unreachable", "admin listener "+text, "give --admin the admin.address of the broker, or look at why it does not answer")
		}
		return
	}
	if len(silent) > 0 {
		what := "recovery and failed cleanings"
		if v.noDirs {
			what = "log directories, " + what
		}
		v.NotKnown = what + ": no admin listener at " + strings.Join(silent, ", ") + "; --admin or MORTISE_ADMIN names another"
	}
}

// askListeners adds what the admin listeners at the addresses say of their brokers, and
// gives those that say nothing, with the reason.
func (v *healthView) askListeners(ctx context.Context, addresses []string) (silent []string) {
	for _, answer := range adminhttp.Each[broker.HealthReport](ctx, addresses, "/v1/health") {
		h := &answer.Page
		known := func(l listenerView) bool { return l.Broker == h.Broker }
		switch {
		case answer.Err == nil && v.ClusterID == h.ClusterID && slices.ContainsFunc(v.Listeners, known):
			continue // nodes that listen at 127.0.0.1 of their machines all look like the one of this
		case answer.Err == nil && (v.ClusterID == "" || v.ClusterID == h.ClusterID):
			v.ClusterID = h.ClusterID
			v.addReport(answer.Address, h)
			continue
		case answer.Err == nil:
			answer.Err = fmt.Errorf("it belongs to cluster %s", h.ClusterID)
		}
		silent = append(silent, fmt.Sprintf("%s: %v", answer.Address, answer.Err))
	}
	return silent
}

// addReport adds what one broker says of itself. What the brokers have told by the
// protocol already is not told twice.
func (v *healthView) addReport(address string, h *broker.HealthReport) {
	v.Listeners = append(v.Listeners, listenerView{Address: address, Broker: h.Broker, Ready: h.Ready, State: h.State,
		LogsDone: h.Recovery.LogsDone, LogsTotal: h.Recovery.LogsTotal})
	v.FailedCleanings += h.FailedCleans
	if !v.answered {
		v.Brokers++
		v.Partitions += h.Partitions
		v.UnderReplicated += h.UnderReplica
		v.Offline += h.Offline
	}
	toldDirs := v.answered && !v.noDirs
	if !toldDirs {
		for _, d := range h.LogDirs {
			v.LogDirs = append(v.LogDirs, logDirView{Broker: h.Broker, Path: d.Path, TotalBytes: d.TotalBytes, AvailableBytes: d.AvailableBytes, Offline: d.Offline})
		}
	}
	for _, p := range h.Problems {
		if v.answered && p.Kind == "under-replicated" || toldDirs && (p.Kind == "log-dir-offline" || p.Kind == "disk-full") {
			continue
		}
		v.add(p.Kind, fmt.Sprintf("broker %d: %s", h.Broker, p.What), p.Advice)
	}
	v.ProblemsTotal += h.ProblemsTotal - len(h.Problems) // those beyond the bound of the page
}

// add notes a problem.
func (v *healthView) add(kind, what, advice string) {
	v.tell(healthProblem{Kind: kind, What: what, Advice: advice, each: ofPartition(kind)})
}

// tell notes a problem. What explains others is told first, and even where there are
// more than can be told: a node that is gone is one line, its partitions are hundreds.
func (v *healthView) tell(p healthProblem) {
	v.ProblemsTotal++
	at := len(v.Problems)
	if first := slices.IndexFunc(v.Problems, func(p healthProblem) bool { return p.each }); first >= 0 && !p.each {
		at = first
	}
	v.Problems = slices.Insert(v.Problems, at, p)
	v.Problems = v.Problems[:min(len(v.Problems), healthProblemsMax)]
}

// ofPartition tells problems that each partition has for itself.
func ofPartition(kind string) bool {
	return kind == "under-replicated" || kind == "under-min-isr" || kind == "offline-partition" || kind == "no-leader"
}

// print prints one line, and one more for each problem. What is wrong is the error.
func (v *healthView) print(a *app) error {
	err := a.printer().Value(v, func(w writer) error {
		fmt.Fprintln(w, v.line())
		for _, p := range v.Problems {
			fmt.Fprintf(w, "  %s: %s\n", p.What, p.Advice)
		}
		if more := v.ProblemsTotal - len(v.Problems); more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
		if !v.Healthy && v.NotKnown != "" {
			fmt.Fprintln(w, "  not known:", v.NotKnown)
		}
		return nil
	})
	if err == nil && !v.Healthy {
		err = errors.New("not healthy")
	}
	return err
}

// line is the whole in one line.
func (v *healthView) line() string {
	if v.Healthy {
		line := fmt.Sprintf("healthy: cluster %s, %s, %s", v.ClusterID, counted(v.Brokers, "broker"), counted(v.Partitions, "partition"))
		if room := v.leastRoom(); room != nil {
			line += fmt.Sprintf(", %s free of %s", output.Bytes(room.AvailableBytes), output.Bytes(room.TotalBytes))
		}
		if v.NotKnown != "" {
			line += " (not known: " + v.NotKnown + ")"
		}
		return line
	}
	var kinds []string
	for _, p := range v.Problems {
		if !slices.Contains(kinds, p.Kind) {
			kinds = append(kinds, p.Kind)
		}
	}
	return fmt.Sprintf("not healthy: %s: %s", counted(v.ProblemsTotal, "problem"), strings.Join(kinds, ", "))
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// leastRoom is the directory with the least room in it; nil: no size is known.
func (v *healthView) leastRoom() *logDirView {
	var least *logDirView
	for i := range v.LogDirs {
		d := &v.LogDirs[i]
		if d.AvailableBytes >= 0 && (least == nil || d.AvailableBytes < least.AvailableBytes) {
			least = d
		}
	}
	return least
}
