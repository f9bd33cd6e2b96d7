package api

import (
	"context"
	"time"
)

// timeoutMax bounds what a client may ask us to wait, in milliseconds.
const timeoutMax = 5 * 60 * 1000

// controlTimeout bounds a decision that a request sets no time for, in milliseconds.
const controlTimeout = 30 * 1000

// withTimeout is the context of a request that may take so many milliseconds. Like
// in Kafka one that may take none has failed already.
func withTimeout(ctx context.Context, ms int32) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(min(ms, timeoutMax))*time.Millisecond)
}
