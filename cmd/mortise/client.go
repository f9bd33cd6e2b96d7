package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// addBrokers gives a command the flag that says whom to talk to, and makes its
// errors say so when nobody answers.
func (a *app) addBrokers(c *cobra.Command) {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error { return a.reached(run(c, args)) }
	c.Flags().StringSliceVarP(&a.brokers, "brokers", "b", defaultBrokers(),
		"addresses to start from, host:port (environment MORTISE_BROKERS)")
	a.login.add(c)
}

// client makes a Kafka client. Errors that would be tried again for ever end
// after a while, since a person waits.
func (a *app) client(more ...kgo.Opt) (*kgo.Client, error) {
	who, err := a.login.options(a)
	if err != nil {
		return nil, err
	}
	options := append([]kgo.Opt{
		kgo.SeedBrokers(splitAll(a.brokers)...),
		kgo.ClientID("mortise-cli"),
		kgo.DialTimeout(5 * time.Second),
		kgo.RetryTimeout(10 * time.Second),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}, more...)
	return kgo.NewClient(append(options, who...)...)
}

// admin makes an admin client and what closes it.
func (a *app) admin() (*kadm.Client, func(), error) {
	c, err := a.client()
	if err != nil {
		return nil, nil, err
	}
	return kadm.NewClient(c), c.Close, nil
}

// reached says what to do when no broker answers, or wants a login; other errors stay as
// they are.
func (a *app) reached(err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Errorf("no broker at %s; --brokers or MORTISE_BROKERS names another: %w", strings.Join(a.brokers, ","), err)
	}
	return a.login.hint(err, a.brokers)
}

// splitAll splits comma-separated values, as come from the environment.
func splitAll(values []string) []string {
	var all []string
	for _, v := range values {
		all = append(all, strings.Split(v, ",")...)
	}
	return all
}
