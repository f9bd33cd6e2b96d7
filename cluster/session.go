package cluster

import (
	"context"
	"sync"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// session is a Registrar that remembers the broker's registration, for its heartbeats.
type session struct {
	meta.Registrar

	mu    sync.Mutex
	last  meta.Registration // guarded by mu
	epoch kafka.BrokerEpoch // guarded by mu
}

// RegisterBroker implements meta.Registrar.
func (s *session) RegisterBroker(ctx context.Context, r meta.Registration) (kafka.BrokerEpoch, error) {
	epoch, err := s.Registrar.RegisterBroker(ctx, r)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last, s.epoch = r, epoch
	}
	return epoch, err
}

// Epoch is that of the registration.
func (s *session) Epoch() kafka.BrokerEpoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// Again registers the broker, which went on all the time, once more: the cluster has
// forgotten it. Nothing that it had was lost, and what its start found in its logs is
// known. tell hears the new epoch.
func (s *session) Again(ctx context.Context, tell func(kafka.BrokerEpoch)) error {
	s.mu.Lock()
	r := s.last
	r.CleanShutdown, r.PreviousEpoch = true, s.epoch
	s.mu.Unlock()
	r.LaterEpochs = nil
	epoch, err := s.RegisterBroker(ctx, r)
	if err == nil {
		tell(epoch)
	}
	return err
}
