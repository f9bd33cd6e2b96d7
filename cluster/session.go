package cluster

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// session is a Registrar that remembers the broker's registration, for its heartbeats.
type session struct {
	meta.Registrar

	mu      sync.Mutex
	last    meta.Registration // guarded by mu
	epoch   kafka.BrokerEpoch // guarded by mu
	attempt uint64            // of a registration whose answer has not come; 0: none; guarded by mu
}

// RegisterBroker implements meta.Registrar.
func (s *session) RegisterBroker(ctx context.Context, r meta.Registration) (kafka.BrokerEpoch, error) {
	epoch, err := s.Registrar.RegisterBroker(ctx, r)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last, s.epoch, s.attempt = r, epoch, 0
	}
	return epoch, err
}

// Epoch is that of the registration. One whose answer never came may have been made all
// the same, which the image tells; then tell hears of it. Without that the broker would
// take its own registration for that of another process.
func (s *session) Epoch(image *meta.Image, tell func(kafka.BrokerEpoch)) kafka.BrokerEpoch {
	s.mu.Lock()
	b, ok := image.Broker(s.last.ID)
	found := ok && s.attempt != 0 && b.Attempt == s.attempt
	if found {
		s.epoch, s.attempt = b.Epoch, 0
	}
	epoch := s.epoch
	s.mu.Unlock()
	if found {
		tell(epoch)
	}
	return epoch
}

// Again registers the broker, which went on all the time, once more: the cluster has
// forgotten it. Nothing that it had was lost, and what its start found in its logs is
// known. tell hears the new epoch.
func (s *session) Again(ctx context.Context, tell func(kafka.BrokerEpoch)) error {
	s.mu.Lock()
	if s.attempt == 0 {
		s.attempt = max(rand.Uint64(), 1)
	}
	r := s.last
	r.CleanShutdown, r.PreviousEpoch, r.Attempt = true, s.epoch, s.attempt
	s.mu.Unlock()
	r.LaterEpochs, r.Missing = nil, nil
	epoch, err := s.RegisterBroker(ctx, r)
	if err == nil {
		tell(epoch)
	}
	return err
}
