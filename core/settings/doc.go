// Package settings reads what an operator wrote: one strict file (YAML, JSON or
// TOML), the environment, and flags, in rising order of weight.
//
// It owns the schema of that file (schema.go), where each value came from, and
// the text of what is wrong, with file, line and key. It must not know what a
// value does. Kafka's own keys stand under "defaults:" by their Kafka names and
// are checked by core/config.
//
// Keys of the file are paths; their parts are joined by "/" inside this
// package, because Kafka's keys contain dots. In the environment a path is
// MORTISE_ and its parts in upper case, joined by two underscores; inside
// defaults one underscore stands for a dot:
//
//	MORTISE_NODE__ID=2                       node.id
//	MORTISE_DEFAULTS__LOG_RETENTION_MS=1000  defaults → log.retention.ms
//	MORTISE_LISTENERS='[{"name":"PLAINTEXT","address":"127.0.0.1:9092"}]'
//
// Variables without the prefix are never looked at.
//
// Invariants: Load either returns settings that are whole and valid, or every
// problem that it found; it never puts a default in the place of a wrong value.
// A Settings is immutable and safe for concurrent use.
package settings
