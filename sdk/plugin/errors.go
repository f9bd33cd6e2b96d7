package plugin

import (
	"errors"
	"fmt"
)

// What calls of a plugin can end with, besides context.DeadlineExceeded and
// context.Canceled. The same errors come from a value that is compiled in and from
// a process; errors.Is tells them apart. A plugin may return them itself.
var (
	// ErrUnavailable: the plugin can't answer now, because something it needs is
	// away. Asking again later may help.
	ErrUnavailable = errors.New("plugin unavailable")
	// ErrGone: the plugin's process or the connection to it ended. It is also an
	// ErrUnavailable.
	ErrGone = fmt.Errorf("plugin process is gone: %w", ErrUnavailable)
	// ErrDrained: the instance was replaced; nothing asks it any more.
	ErrDrained = errors.New("plugin instance was drained")
	// ErrUnsupported: the plugin lacks an optional part of its kind's contract.
	ErrUnsupported = errors.New("plugin does not support this")
	// ErrConfig: the plugin refuses a config. The text is for its author.
	ErrConfig = errors.New("plugin config")
	// ErrBadAnswer: the answer breaks the contract (length, range, a value that is
	// not known, text that is not UTF-8) and was thrown away.
	ErrBadAnswer = errors.New("bad answer from plugin")
	// ErrTooLarge: the question or the answer is larger than a message may be.
	ErrTooLarge = errors.New("plugin message too large")
	// ErrPanicked: the call ended in a panic. The plugin lives.
	ErrPanicked = errors.New("plugin panicked")
	// ErrFailed: any other error that a plugin's method returned.
	ErrFailed = errors.New("plugin failed")
)
