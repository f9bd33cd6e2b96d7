package broker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// parkedGrace is how long waiting requests may go on waiting for what they want
// when the broker stops: a produce for its fsync or its replicas, a fetch for its
// max.wait, whose default is half of it. After that they get the answer for a stopping
// broker.
const parkedGrace = time.Second

// Close stops the broker in the order of the package comment. Clients get their
// answers until ctx ends; after that their connections are closed. The logs are
// flushed and marked clean in both cases, unless that fails.
func (b *Broker) Close(ctx context.Context) error {
	was := state(b.state.Swap(int32(stateStopping)))
	b.contact.close()
	var errs []error
	note := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	if b.server == nil { // never served: the sockets are still ours
		for _, l := range b.listeners {
			note("listener", l.Close())
		}
	}
	b.stopServing(ctx, note)
	if b.followers != nil {
		b.followers.Close()
	}
	if b.asker != nil {
		b.asker.Close()
	}
	if b.moves != nil {
		b.moves.Close()
	}
	if b.roles != nil {
		note("logs", b.roles.Close(true))
	}
	if b.dirs != nil {
		note("log directories", b.dirs.Close(was == stateRunning, b.registration()))
	}
	if b.admin != nil {
		note("admin listener", b.admin.Shutdown(ctx))
	}
	b.serving.Wait()
	return errors.Join(errs...)
}

// stopServing ends everything that uses partitions.
func (b *Broker) stopServing(ctx context.Context, note func(string, error)) {
	if b.server != nil {
		note("clients", b.drain(ctx))
	}
	if b.retention != nil {
		b.retention.Close()
	}
	if b.compaction != nil {
		b.compaction.Close()
	}
	if b.purgatory != nil {
		b.purgatory.Close()
	}
	if b.groups != nil {
		b.groups.Close()
	}
	if b.api != nil {
		b.api.Close()
	}
	if b.authorizer != nil {
		b.ruleWatch()
		b.authorizer.Close()
	}
	if b.plugins != nil {
		note("plugins", b.plugins.close(ctx))
	}
}

// drain lets answers out and ends every connection.
func (b *Broker) drain(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- b.server.Shutdown(ctx) }()
	patience := make(chan struct{})
	timer := b.options.Clock.AfterFunc(parkedGrace, func() { close(patience) })
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-patience:
		b.purgatory.Close()
		b.roles.EndWaits()
		b.groups.Close()
		return <-done
	}
}
