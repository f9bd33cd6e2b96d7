package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
)

// addAdmin gives a command the flag that says where admin listeners are: the protocol
// of Kafka does not tell it.
func (a *app) addAdmin(c *cobra.Command) {
	var env []string
	if s := os.Getenv("MORTISE_ADMIN"); s != "" {
		env = []string{s}
	}
	c.Flags().StringSliceVar(&a.listeners, "admin", env,
		"admin listeners, host:port; without it port "+adminhttp.Port+" of every broker (environment MORTISE_ADMIN)")
}

// adminListeners are the admin listeners to ask.
func (a *app) adminListeners(brokers kadm.BrokerDetails) []string {
	if len(a.listeners) > 0 {
		return splitAll(a.listeners)
	}
	var hosts []string
	for _, b := range brokers {
		hosts = append(hosts, b.Host)
	}
	return adminhttp.Guess(hosts)
}

// hostsOf are the hosts of addresses.
func hostsOf(addresses []string) []string {
	var hosts []string
	for _, address := range addresses {
		if host, _, err := net.SplitHostPort(address); err == nil {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// askListeners reads a page of every admin listener. Answers that are not of this
// cluster do not count: another broker may be where one was guessed. missing says who
// did not answer.
func askListeners[T any](ctx context.Context, addresses []string, path string, ours func(*T) bool) (pages []T, missing error) {
	var silent []string
	for _, answer := range adminhttp.Each[T](ctx, addresses, path) {
		switch {
		case answer.Err != nil:
			silent = append(silent, fmt.Sprintf("%s: %v", answer.Address, answer.Err))
		case !ours(&answer.Page):
			silent = append(silent, answer.Address+": it belongs to another cluster")
		default:
			pages = append(pages, answer.Page)
		}
	}
	if len(silent) > 0 {
		missing = fmt.Errorf("%s; --admin or MORTISE_ADMIN names another", strings.Join(silent, ", "))
	}
	return pages, missing
}
