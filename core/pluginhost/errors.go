package pluginhost

import (
	"context"
	"errors"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// What a call through a handle may fail with, for errors.Is. Each user of a kind
// decides by them what its failure policy says: none of them ever means yes. All but
// ErrNotFound may be gone at the next try. auth.ErrUnsupported and errors of the
// caller's own context pass as they are.
var (
	// ErrNotFound says that the catalogue has no plugin of that name and kind.
	ErrNotFound = errors.New("no such plugin")
	// ErrUnavailable says that nobody answered: no generation is in service, the one
	// that was asked ended, its breaker is open, its queue is full, or it says itself
	// that it can't answer now.
	ErrUnavailable = plugin.ErrUnavailable
	// ErrTimeout says that the answer did not come within the plugin's deadline.
	ErrTimeout = errors.New("plugin did not answer in time")
	// ErrBadAnswer says that the answer broke a rule of the contract and was dropped.
	ErrBadAnswer = plugin.ErrBadAnswer
	// ErrFailed says that the plugin answered with an error of its own, or panicked.
	ErrFailed = plugin.ErrFailed
)

// What keeps a plugin out of service, for errors.Is.
var (
	// ErrSpec says that the entry of the catalogue is wrong.
	ErrSpec = errors.New("plugin entry is wrong")
	// ErrRefused says that the plugin is not what its entry says, or does not take
	// its config: trying again changes nothing.
	ErrRefused = errors.New("plugin is refused")
	// ErrCanary says that the first, made-up question was not answered rightly.
	ErrCanary = errors.New("canary question")
	// ErrRolledBack says that an upgrade was in service and was taken back.
	ErrRolledBack = errors.New("upgrade was rolled back")
	// errAsked is the reason of a rollback that an operator wanted: no fault of the upgrade.
	errAsked = errors.New("an operator asked for it")
	// ErrClosed says that the Host is closed.
	ErrClosed = errors.New("plugin host is closed")
)

// cause names why a call failed: the label of the error metric.
type cause uint8

const (
	causeNone        cause = iota
	causeUnavailable       // no generation is in service, or the plugin says so
	causeGone              // the generation ended in the call
	causeBusy              // queue full
	causeBreaker           // breaker open
	causeTimeout
	causeBadAnswer
	causeFailed // the plugin's own error
	causePanic
	causes // how many
)

var causeNames = [causes]string{"", "unavailable", "gone", "busy", "breaker", "timeout", "bad-answer", "failed", "panic"}

// causeOf sorts the error of a call that ran under ctx, whose deadline is the
// plugin's, for a caller with a context of its own. What the caller itself ended
// has no cause.
func causeOf(caller, ctx context.Context, err error) cause {
	switch {
	case err == nil || caller.Err() != nil || errors.Is(err, plugin.ErrUnsupported):
		return causeNone
	case errors.Is(err, plugin.ErrPanicked):
		return causePanic
	case errors.Is(err, plugin.ErrBadAnswer):
		return causeBadAnswer
	case errors.Is(err, plugin.ErrGone), errors.Is(err, plugin.ErrDrained):
		return causeGone
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return causeTimeout
	case errors.Is(err, plugin.ErrUnavailable):
		return causeUnavailable
	}
	return causeFailed
}

// sentinel is the exported error of a cause.
func (c cause) sentinel() error {
	switch c {
	case causeUnavailable, causeGone, causeBusy, causeBreaker:
		return ErrUnavailable
	case causeTimeout:
		return ErrTimeout
	case causeBadAnswer:
		return ErrBadAnswer
	}
	return ErrFailed
}

// breaks says whether the cause counts for the breaker: an error that the plugin
// chose to give shows that it answers.
func (c cause) breaks() bool {
	return c == causeGone || c == causeTimeout || c == causeBadAnswer || c == causePanic
}
