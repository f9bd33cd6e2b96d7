package rpc

import "time"

// APIMinor counts what was added to mortise.plugin.v1 since it was first released.
const APIMinor = 0

// MaxMessageBytes is the largest message, in both directions.
const MaxMessageBytes = 8 << 20

// Largest answers to questions of which many may be under way at a time: what the
// contract lets one hold, and room beside it. Others may have MaxMessageBytes.
const (
	maxPlacesBytes   = 64 << 10  // partitions or verdicts
	maxResultBytes   = 512 << 10 // a principal with its groups
	maxVerdictsBytes = 2 << 20   // of a retention, with reasons
)

// maxHeaderBytes bounds the headers of an answer and what comes after it, where the text
// of an error is.
const maxHeaderBytes = 64 << 10

// maxStreams bounds how many calls a process takes at once over one connection. Those
// beyond wait at the asker, each until its deadline. It is more than maxInstances, so
// that a Watch of each leaves room for calls.
const maxStreams = 1024

// What a call gets whose caller sets no deadline. The calls of the kinds get the
// last one: their callers know better, and this only keeps them from waiting for
// ever.
const (
	describeTimeout  = 2 * time.Second
	configureTimeout = 10 * time.Second
	drainTimeout     = 30 * time.Second
	metricsTimeout   = 2 * time.Second
	callTimeout      = 10 * time.Second
)
