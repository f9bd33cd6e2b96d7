package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cmd/internal/reassignment"
)

// unthrottleResult is what is held back no more.
type unthrottleResult struct {
	Topics []string `json:"topics"`
	Nodes  []int32  `json:"nodes"` // whose rates were taken away; none while others move
}

// settle takes away what --throttle set, if it was given.
func (f *reassignFlags) settle(ctx context.Context, client *kgo.Client, moves []reassignment.Move) error {
	if f.throttle == 0 {
		return nil
	}
	return unthrottle(ctx, client, moves)
}

// unthrottle takes the throttle of moves away, but for the topics that something else
// still moves, and the rates only when nothing does.
func unthrottle(ctx context.Context, client *kgo.Client, moves []reassignment.Move) error {
	var topics []string
	for _, m := range moves {
		topics = append(topics, m.Topic)
	}
	slices.Sort(topics)
	_, err := unthrottleTopics(ctx, client, slices.Compact(topics))
	return err
}

// unthrottleTopics is unthrottle for topics.
func unthrottleTopics(ctx context.Context, client *kgo.Client, topics []string) (*unthrottleResult, error) {
	pending, err := reassignment.List(ctx, client)
	if err != nil {
		return nil, err
	}
	moving := map[string]bool{}
	for _, p := range pending {
		moving[p.Topic] = true
	}
	topics = slices.DeleteFunc(topics, func(name string) bool { return moving[name] })
	r := &unthrottleResult{Topics: []string{}, Nodes: []int32{}}
	if found, err := reassignment.Throttled(ctx, client, topics); err != nil {
		return nil, err
	} else if len(found) > 0 {
		r.Topics = found
	}
	if len(pending) == 0 {
		brokers, err := kadm.NewClient(client).ListBrokers(ctx)
		if err != nil {
			return nil, err
		}
		r.Nodes = brokers.NodeIDs()
	}
	return r, reassignment.Unthrottle(ctx, client, r.Topics, r.Nodes)
}

// free takes away what an earlier command left.
func (f *reassignFlags) free(a *app, ctx context.Context, client *kgo.Client) error {
	topics := f.topics
	if len(topics) == 0 {
		all, err := kadm.NewClient(client).ListTopicsWithInternal(ctx)
		if err != nil {
			return err
		}
		topics = all.Names()
	}
	r, err := unthrottleTopics(ctx, client, topics)
	if err != nil {
		return err
	}
	return a.printer().Value(r, func(w writer) error {
		fmt.Fprintf(w, "%s and %s are held back no more\n", counted(len(r.Topics), "topic"), counted(len(r.Nodes), "node"))
		if len(r.Nodes) == 0 {
			fmt.Fprintln(w, "something is still being moved; mortise cluster reassign --list shows it")
		}
		return nil
	})
}
