package controller

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// TickInterval is how often a Machine must be ticked at least.
const TickInterval = time.Second

// Bounds of what a Machine does.
const (
	// PingTimeout is how long a ping may take.
	PingTimeout = 300 * time.Millisecond
	// PingCount is how many pings in a row may stay without an answer.
	PingCount = 2

	pingPause     = time.Second            // between pings of a suspect that answers
	retryPause    = time.Second            // after a decision that failed
	shutdownRetry = 500 * time.Millisecond // between attempts to move leaders off a broker that stops
	stallMax      = 2 * TickInterval       // without a tick: this node stood still
	voterPause    = time.Second            // between two changes of voters
	voterRetry    = 5 * time.Second        // after one that failed
	strangeMax    = 15 * time.Second       // without an answer of a member that is no broker
	promoteLag    = 1000                   // changes that a new voter may be behind
	electMax      = 1000                   // partitions in one election, as in Kafka
)

// Config is how brokers are watched.
type Config struct {
	Self              kafka.BrokerID
	SessionTimeout    time.Duration // broker.session.timeout.ms; 0: 9 s
	HeartbeatInterval time.Duration // broker.heartbeat.interval.ms; 0: 2 s
	// RebalanceInterval is how often leaders go back to the preferred replicas
	// (leader.imbalance.check.interval.seconds); 0: never
	// (auto.leader.rebalance.enable=false).
	RebalanceInterval time.Duration
	Voters            int           // 1, 3 or 5; 0: by the number of nodes
	VoterReplaceAfter time.Duration // 0: 60 s
}

// EnsureDefaults puts the defaults where nothing is said.
func (c *Config) EnsureDefaults() {
	if c.SessionTimeout == 0 {
		c.SessionTimeout = 9 * time.Second
	}
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = 2 * time.Second
	}
	if c.VoterReplaceAfter == 0 {
		c.VoterReplaceAfter = time.Minute
	}
}
