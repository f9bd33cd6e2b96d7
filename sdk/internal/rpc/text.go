package rpc

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// sendable is text that a message may carry; what is not UTF-8 in it is replaced. It
// is for text that only people read or that can't be anything but UTF-8.
func sendable(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// within says whether text of a message is at most limit bytes and UTF-8.
func within(text string, limit int) bool { return len(text) <= limit && utf8.ValidString(text) }

// milliseconds is a number of a message as a duration: not negative, and not more
// than a duration can be.
func milliseconds(ms int64) time.Duration {
	switch {
	case ms < 0:
		return 0
	case ms > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// wholeMilliseconds is a duration for a message: rounded down, so that nothing is
// remembered longer than the plugin said.
func wholeMilliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), math.MaxUint32))
}
