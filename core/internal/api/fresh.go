package api

import (
	"context"
	"time"

	"github.com/mortisemq/mortise/core/meta"
)

// Kafka has its controller decide about changes, so that a client which makes a topic at
// one broker may alter it at another right away. Here every broker looks names up in its
// own picture of the cluster, which may be a moment older than that of the broker which
// answered before.

// freshWait bounds how long a request waits for the newest picture. Whoever leads the
// cluster tells at once.
const freshWait = 2 * time.Second

// fresh is the picture for a request that changes what it names. If the present one
// refuses it, everything that was decided before the request is waited for first;
// without a leader, the request is about what is known here. It blocks: for the
// background only.
func (a *API) fresh(ctx context.Context, takes func(*meta.Image) bool) *meta.Image {
	img := a.image()
	if takes(img) {
		return img
	}
	ctx, stop := context.WithTimeout(ctx, freshWait)
	defer stop()
	if err := a.deps.Control.Refresh(ctx); err != nil {
		a.deps.Log.Debug("what the cluster decided last is not known", "error", err)
	}
	return a.image()
}
