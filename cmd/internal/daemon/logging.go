package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// NewLogger logs to w: as text on a terminal and as JSON elsewhere, unless
// format (auto, text, json) says which. level can be changed later.
func NewLogger(w io.Writer, format string, level *slog.LevelVar) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: durationsAsText}
	if format == "json" || format == "auto" && !isTerminal(w) {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
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
