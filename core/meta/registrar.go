package meta

import (
	"context"

	"github.com/mortisemq/mortise/core/kafka"
)

// Registrar lets a broker tell the cluster that it is there and where clients
// find it. It stands beside Control because only the broker's own start uses it.
type Registrar interface {
	// RegisterBroker makes the broker known and returns the epoch of this
	// registration. When it returns, Image includes it. A broker registers once
	// per start, after it knows the ports that it listens on.
	RegisterBroker(ctx context.Context, r Registration) (kafka.BrokerEpoch, error)
}

// Registration is what a broker says of itself when it starts.
type Registration struct {
	ID        kafka.BrokerID
	Rack      string // empty: none
	Endpoints []Endpoint
	LogDirs   []kafka.TopicID // directory ids
	// CleanShutdown says that every log directory was closed in order, so that
	// nothing acknowledged by this broker can be missing. Without it the leader
	// epochs of the partitions that it leads go up: a client that read records
	// which a power cut took away then finds out by the epoch (KIP-320).
	CleanShutdown bool
}
