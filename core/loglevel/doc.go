// Package loglevel gives each room's log a level of its own, which people change
// while the broker runs (the BROKER_LOGGER resource of Kafka's protocol).
//
// It owns the names of loggers, their levels and what a level is called, in Kafka's
// words. It must not know what is logged, where to, or who asks.
//
// Levels are a tree of height one: loggers without a level of their own have the
// root's. They are not written down; a broker starts with what its settings say.
//
// Cost: a record that is not wanted costs two atomic loads and no allocation.
//
// Lock order: Levels.mu is a leaf; logging takes no lock of this room.
package loglevel
