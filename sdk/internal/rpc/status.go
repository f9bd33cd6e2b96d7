package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// panicPrefix begins the message of codes.Internal when code of a plugin panicked;
// gRPC uses the same code for messages that it can't read.
const panicPrefix = "panic: "

// statusOf is a plugin's error as gRPC's status. What a plugin says on purpose gets
// codes that no transport uses by itself: Aborted is "my backend is away", Unavailable
// stays for "the connection is".
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codeOf(err), plainText(err.Error(), plugin.MaxErrorTextBytes))
}

func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, plugin.ErrUnsupported):
		return codes.Unimplemented
	case errors.Is(err, plugin.ErrUnavailable):
		return codes.Aborted
	case errors.Is(err, plugin.ErrDrained):
		return codes.FailedPrecondition
	case errors.Is(err, plugin.ErrConfig):
		return codes.InvalidArgument
	case errors.Is(err, plugin.ErrTooLarge):
		return codes.ResourceExhausted
	case errors.Is(err, plugin.ErrBadAnswer):
		return codes.OutOfRange
	case errors.Is(err, plugin.ErrPanicked):
		return codes.Internal
	default:
		return codes.Unknown
	}
}

// ErrorOf is what a call's status means to the asker. ctx is the call's.
func ErrorOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	meaning := meaningOf(ctx, s)
	text := plainText(s.Message(), plugin.MaxErrorTextBytes)
	text = strings.TrimPrefix(text, meaning.Error())
	text = strings.TrimPrefix(text, ": ")
	if text == "" {
		return meaning
	}
	return fmt.Errorf("%w: %s", meaning, text)
}

func meaningOf(ctx context.Context, s *status.Status) error {
	switch s.Code() {
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Canceled:
		if ctx.Err() == nil {
			return plugin.ErrGone // the connection was closed
		}
		return context.Canceled
	case codes.Unavailable:
		return plugin.ErrGone
	case codes.Aborted:
		return plugin.ErrUnavailable
	case codes.Unimplemented:
		return plugin.ErrUnsupported
	case codes.FailedPrecondition:
		return plugin.ErrDrained
	case codes.InvalidArgument:
		return plugin.ErrConfig
	case codes.ResourceExhausted:
		return plugin.ErrTooLarge
	case codes.OutOfRange:
		return plugin.ErrBadAnswer
	case codes.Internal:
		if strings.HasPrefix(s.Message(), panicPrefix) {
			return plugin.ErrPanicked
		}
		return plugin.ErrBadAnswer // gRPC could not read it
	default:
		return plugin.ErrFailed
	}
}

// badAnswer is an error about what a plugin answered.
func badAnswer(format string, args ...any) error {
	return fmt.Errorf("%w: %s", plugin.ErrBadAnswer, fmt.Sprintf(format, args...))
}

// badQuestion is an error about what a broker asked.
func badQuestion(format string, args ...any) error {
	return fmt.Errorf("question: "+format, args...)
}

// tooLarge is an error about the size of a question or an answer.
func tooLarge(format string, args ...any) error {
	return fmt.Errorf("%w: %s", plugin.ErrTooLarge, fmt.Sprintf(format, args...))
}

// plainText is at most limit bytes of text from the other side that may go into a
// log: UTF-8 without control characters.
func plainText(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	if isPlain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
