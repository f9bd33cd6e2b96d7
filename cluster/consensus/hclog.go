package consensus

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger lets raft and raft-wal log through slog. They tell much that is
// ordinary (each election, each snapshot), so everything but errors goes one
// level down: Info becomes Debug, and Warn becomes Info.
type raftLogger struct {
	log  *slog.Logger
	name string
	args []any
}

// newRaftLogger wraps log.
func newRaftLogger(log *slog.Logger) hclog.Logger { return &raftLogger{log: log} }

// level is where a level of hclog goes.
func level(l hclog.Level) slog.Level {
	switch l {
	case hclog.Error:
		return slog.LevelError
	case hclog.Warn:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// ordinary are warnings that every start of a lone voter gives, and errors of raft that
// only say that another node is not there. What follows from that (a lost leadership,
// an election) is told as well.
func ordinary(msg string) bool {
	switch msg {
	case "heartbeat timeout reached, starting election", "no known peers, aborting election",
		"failed to decode incoming command", "failed to flush response",
		"failed to heartbeat to", "failed to appendEntries to", "failed to pipeline appendEntries", "failed to start pipeline replication to",
		"failed to make requestVote RPC", "failed to make requestPreVote RPC", "failed to get previous log", "failed to send snapshot to", "peer has newer term, stopping replication", "failed to contact",
		"rejecting vote request since we have a leader", "rejecting pre-vote request since we have a leader":
		return true
	}
	return false
}

// Log implements hclog.Logger.
func (l *raftLogger) Log(at hclog.Level, msg string, args ...any) {
	to := level(at)
	if ordinary(msg) {
		to = slog.LevelDebug
	}
	l.log.Log(context.Background(), to, "control: "+msg, args...)
}

// Trace implements hclog.Logger. raft's traces are not kept.
func (l *raftLogger) Trace(string, ...any) {}

// Debug implements hclog.Logger.
func (l *raftLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements hclog.Logger.
func (l *raftLogger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements hclog.Logger.
func (l *raftLogger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements hclog.Logger.
func (l *raftLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// enabled asks slog whether a level is wanted.
func (l *raftLogger) enabled(at hclog.Level) bool {
	return l.log.Enabled(context.Background(), level(at))
}

// IsTrace implements hclog.Logger.
func (l *raftLogger) IsTrace() bool { return false }

// IsDebug implements hclog.Logger.
func (l *raftLogger) IsDebug() bool { return l.enabled(hclog.Debug) }

// IsInfo implements hclog.Logger.
func (l *raftLogger) IsInfo() bool { return l.enabled(hclog.Info) }

// IsWarn implements hclog.Logger.
func (l *raftLogger) IsWarn() bool { return l.enabled(hclog.Warn) }

// IsError implements hclog.Logger.
func (l *raftLogger) IsError() bool { return l.enabled(hclog.Error) }

// ImpliedArgs implements hclog.Logger.
func (l *raftLogger) ImpliedArgs() []any { return l.args }

// With implements hclog.Logger.
func (l *raftLogger) With(args ...any) hclog.Logger {
	return &raftLogger{log: l.log.With(args...), name: l.name, args: append(l.args[:len(l.args):len(l.args)], args...)}
}

// Name implements hclog.Logger.
func (l *raftLogger) Name() string { return l.name }

// Named implements hclog.Logger. Names are not shown: "control" says enough.
func (l *raftLogger) Named(string) hclog.Logger { return l }

// ResetNamed implements hclog.Logger.
func (l *raftLogger) ResetNamed(string) hclog.Logger { return l }

// SetLevel implements hclog.Logger. The level is slog's.
func (l *raftLogger) SetLevel(hclog.Level) {}

// GetLevel implements hclog.Logger.
func (l *raftLogger) GetLevel() hclog.Level { return hclog.Debug }

// StandardLogger implements hclog.Logger.
func (l *raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.log.Handler(), slog.LevelDebug)
}

// StandardWriter implements hclog.Logger.
func (l *raftLogger) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(o).Writer()
}

var _ hclog.Logger = (*raftLogger)(nil)
