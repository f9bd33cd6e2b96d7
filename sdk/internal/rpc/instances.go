package rpc

import (
	"context"
	"fmt"
	"io"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// maxInstances bounds how many instances one process keeps at once.
const maxInstances = 256

// served is one instance in a plugin's process.
type served struct {
	plugin plugin.Plugin
	made   any
	// ending is done when the instance is drained: what would run on for ever
	// (Watch) ends then.
	ending context.Context
	end    context.CancelFunc
	closed chan struct{} // closed after made was closed
	err    error         // of closing; set before closed is

	calls    int  // guarded by Server.mu
	draining bool // guarded by Server.mu
}

// add takes a new instance; its id must be free.
func (s *Server) add(id string, p plugin.Plugin, made any) error {
	ending, end := context.WithCancel(context.Background())
	in := &served{plugin: p, made: made, ending: ending, end: end, closed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mayAdd(id); err != nil {
		end()
		return err
	}
	s.instances[id] = in
	return nil
}

// mayAdd says whether there is room for one more instance with the id; with s.mu.
func (s *Server) mayAdd(id string) error {
	switch {
	case id == "" || len(id) > plugin.MaxInstanceBytes:
		return badQuestion("instance id of %d bytes", len(id))
	case s.instances[id] != nil:
		return badQuestion("instance %s is there already", plainText(id, plugin.MaxInstanceBytes))
	case len(s.instances) >= maxInstances:
		return badQuestion("%d instances are as many as there may be", maxInstances)
	}
	return nil
}

// take begins a call of an instance; release ends it.
func (s *Server) take(meta *pluginpb.CallMeta) (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.instances[meta.GetInstanceId()]
	if in == nil || in.draining {
		return nil, plugin.ErrDrained
	}
	in.calls++
	return in, nil
}

func (s *Server) release(in *served) {
	s.mu.Lock()
	in.calls--
	last := in.draining && in.calls == 0
	s.mu.Unlock()
	if last {
		s.finish(in)
	}
}

// drain ends an instance and waits until it is closed. One that is not there is
// drained.
func (s *Server) drain(ctx context.Context, id string) error {
	s.mu.Lock()
	in := s.instances[id]
	if in == nil {
		s.mu.Unlock()
		return nil
	}
	first := !in.draining
	in.draining = true
	idle := first && in.calls == 0
	s.mu.Unlock()
	in.end()
	if idle {
		go s.finish(in)
	}
	select {
	case <-in.closed:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	if s.instances[id] == in {
		delete(s.instances, id)
	}
	s.mu.Unlock()
	return in.err
}

// finish closes an instance that no call uses any more. It runs once.
func (s *Server) finish(in *served) {
	defer close(in.closed)
	defer func() {
		if r := recover(); r != nil {
			in.err = s.panicked("Close", r)
		}
	}()
	if c, ok := in.made.(io.Closer); ok {
		in.err = c.Close()
	}
}

// Close drains every instance at once and waits for them, at most as long as ctx.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	ids := make([]string, 0, len(s.instances))
	for id := range s.instances {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	ended := make(chan error, len(ids))
	for _, id := range ids {
		go func() { ended <- s.drain(ctx, id) }()
	}
	var first error
	for range ids {
		if err := <-ended; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// with runs one call of an instance as its contract.
func with[T any](s *Server, meta *pluginpb.CallMeta, call func(T) error) error {
	in, err := s.take(meta)
	if err != nil {
		return statusOf(err)
	}
	defer s.release(in)
	contract, ok := in.made.(T)
	if !ok {
		return statusOf(fmt.Errorf("a %s can't do this: %w", in.plugin.Kind, plugin.ErrUnsupported))
	}
	return statusOf(call(contract))
}
