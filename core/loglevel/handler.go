package loglevel

import (
	"context"
	"log/slog"
)

// handler lets through what its logger's level allows.
type handler struct {
	levels *Levels
	level  slog.Leveler
	next   slog.Handler
}

// Enabled implements slog.Handler.
//
// Hot: per call of a logger. 0 allocs.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level.Level() && h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error { return h.next.Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{levels: h.levels, level: h.level, next: h.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{levels: h.levels, level: h.level, next: h.next.WithGroup(name)}
}

var _ slog.Handler = (*handler)(nil)
