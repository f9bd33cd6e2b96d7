package sdk

import (
	"io"
	"log/slog"
)

// NewHandler writes log lines that a broker understands: one JSON object a line with
// time, level, msg and attributes. Serve makes it the default of log/slog, and so of
// package log too.
func NewHandler(w io.Writer) slog.Handler {
	// The broker decides what it shows, so everything is written.
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
}
