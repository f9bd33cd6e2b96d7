package loglevel

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Root is the name of the logger whose level all others have that have none of
// their own.
const Root = "root"

// The levels that Kafka has and slog has no names for.
const (
	Trace = slog.LevelDebug - 4
	Fatal = slog.LevelError + 4
)

// names are the levels by name, rising.
var names = [...]struct {
	name  string
	level slog.Level
}{{"TRACE", Trace}, {"DEBUG", slog.LevelDebug}, {"INFO", slog.LevelInfo}, {"WARN", slog.LevelWarn}, {"ERROR", slog.LevelError}, {"FATAL", Fatal}}

// Parse reads the name of a level, in upper case as Kafka wants it. ErrLevel: there
// is none of that name.
func Parse(name string) (slog.Level, error) {
	for _, n := range names {
		if n.name == name {
			return n.level, nil
		}
	}
	return 0, fmt.Errorf("%w: %q", ErrLevel, name)
}

// Name is what Kafka calls a level, or the next higher one that it has a name for.
func Name(level slog.Level) string {
	for _, n := range names {
		if level <= n.level {
			return n.name
		}
	}
	return names[len(names)-1].name
}

// Logger is the level of one logger.
type Logger struct {
	Name  string
	Level slog.Level // that counts
}

// Levels are the loggers of a process. They are safe for concurrent use.
type Levels struct {
	out  slog.Handler // takes every level
	root *slog.LevelVar

	mu      sync.Mutex
	loggers map[string]*threshold // guarded by mu
}

// threshold is the level of one logger.
type threshold struct {
	root *slog.LevelVar
	own  atomic.Pointer[slog.Level] // nil: the root's
}

// Level implements slog.Leveler.
func (t *threshold) Level() slog.Level {
	if own := t.own.Load(); own != nil {
		return *own
	}
	return t.root.Level()
}

// New makes levels over a handler, which must let every record through. root is the
// root's level, which its owner may change, too.
func New(out slog.Handler, root *slog.LevelVar) *Levels {
	return &Levels{out: out, root: root, loggers: map[string]*threshold{}}
}

// Of are the levels behind a logger that Levels.Logger made. For another logger it
// makes new ones that can silence its rooms but not make them say more than it does.
func Of(log *slog.Logger) *Levels {
	if h, ok := log.Handler().(*handler); ok {
		return h.levels
	}
	root := &slog.LevelVar{}
	root.Set(lowest(log))
	return New(log.Handler(), root)
}

// lowest is the least of Kafka's levels that a logger lets through.
func lowest(log *slog.Logger) slog.Level {
	for _, n := range names {
		if log.Enabled(context.Background(), n.level) {
			return n.level
		}
	}
	return Fatal
}

// Logger is the logger of that name, which is known from now on.
func (l *Levels) Logger(name string) *slog.Logger {
	if name == Root {
		return slog.New(&handler{levels: l, level: l.root, next: l.out})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.loggers[name]
	if t == nil {
		t = &threshold{root: l.root}
		l.loggers[name] = t
	}
	return slog.New(&handler{levels: l, level: t, next: l.out})
}

// All are the loggers by name, the root among them.
func (l *Levels) All() []Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []Logger{{Root, l.root.Level()}}
	for name, t := range l.loggers {
		all = append(all, Logger{name, t.Level()})
	}
	slices.SortFunc(all, func(a, b Logger) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Exists reports whether there is a logger of that name.
func (l *Levels) Exists(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return name == Root || l.loggers[name] != nil
}

// Set gives a logger a level of its own. ErrLogger: there is none of that name.
func (l *Levels) Set(name string, level slog.Level) error {
	if name == Root {
		l.root.Set(level)
		return nil
	}
	return l.change(name, &level)
}

// Reset takes a logger's own level away. ErrLogger: there is none of that name;
// ErrRoot: the root has no other than its own.
func (l *Levels) Reset(name string) error {
	if name == Root {
		return ErrRoot
	}
	return l.change(name, nil)
}

// change stores a logger's own level.
func (l *Levels) change(name string, own *slog.Level) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.loggers[name]
	if t == nil {
		return fmt.Errorf("%w: %q", ErrLogger, name)
	}
	t.own.Store(own)
	return nil
}
