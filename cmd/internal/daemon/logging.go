package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/mortisemq/mortise/core/loglevel"
)

// NewLogger logs to w: as text on a terminal and as JSON elsewhere, unless
// format (auto, text, json) says which. level can be changed later, and rooms can
// have levels of their own (package loglevel).
func NewLogger(w io.Writer, format string, level *slog.LevelVar) *slog.Logger {
	options := &slog.HandlerOptions{Level: loglevel.Trace, ReplaceAttr: durationsAsText}
	var out slog.Handler = slog.NewTextHandler(w, options)
	if format == "json" || format == "auto" && !isTerminal(w) {
		out = slog.NewJSONHandler(w, options)
	}
	return loglevel.New(out, level).Logger(loglevel.Root)
}

// durationsAsText writes 30s where JSON would have a number of nanoseconds.
func durationsAsText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// SetLevel sets the level by its name.
func SetLevel(level *slog.LevelVar, name string) error {
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return fmt.Errorf("log level %q: %w", name, err)
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
