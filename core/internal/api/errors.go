package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
)

// errVersion is a key or version that is not answered.
var errVersion = errors.New("key or version not supported")

// errBusy ends a request that found the queue of background work full.
var errBusy = errors.New("too many requests wait for the cluster")

// errTooMuch ends a request whose answer would be too large to make.
var errTooMuch = errors.New("the answer would be too large: ask for less at a time")

// versionError names the key and version.
func versionError(key, version int16) error {
	return fmt.Errorf("%w: key %d version %d", errVersion, key, version)
}

// refusal turns an error into what a client is told: a *kafka.Error as it is, a
// refused configuration as INVALID_CONFIG, an ended context as a time-out, and
// anything else as an unknown error, which is logged because no client can act on
// it.
func (a *API) refusal(err error) *kafka.Error {
	var known *kafka.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, config.ErrInvalid):
		return kafka.ErrInvalidConfig.Err(err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return kafka.ErrRequestTimedOut.Err("")
	}
	a.deps.Log.Error("request failed", "error", err)
	return kafka.ErrUnknownServerError.Err("")
}

// ownText is the error's own message; nil when it has none.
func ownText(err *kafka.Error) *string {
	if err == nil || err.Message == "" {
		return nil
	}
	return &err.Message
}

// fullText is the error's message, or the default one of its code; nil without an
// error.
func fullText(err *kafka.Error) *string {
	if err == nil {
		return nil
	}
	text := err.Message
	if text == "" {
		text = err.Code.Text()
	}
	return &text
}
