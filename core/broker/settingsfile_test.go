package broker_test

import (
	"testing"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
)

// Elections go by what the settings file says where nobody says otherwise, and that is
// what the broker registered with, also after the file changed: a lower
// min.insync.replicas must not count here before it counts for who is eligible.
func TestElectionsGoByTheRegisteredSettings(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Static: config.Static{"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}})
	seen, _ := b.Control.Image().Broker(1)
	if seen.MinISR != 2 || !seen.Unclean {
		t.Errorf("registered with min.insync.replicas %d and unclean elections %v, want 2 and true", seen.MinISR, seen.Unclean)
	}
	pending := b.Reconfigure(config.Static{"min.insync.replicas": "1", "unclean.leader.election.enable": "true"})
	if len(pending) != 1 || pending[0] != "min.insync.replicas" {
		t.Errorf("a changed file leaves %v for a restart, want [min.insync.replicas]", pending)
	}
}
