package loglevel

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// newLevels are levels that write to b.
func newLevels(b *bytes.Buffer) *Levels {
	return New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: Trace}), &slog.LevelVar{})
}

// TestLevelsByRoom: a room says what its own level allows, or the root's.
func TestLevelsByRoom(t *testing.T) {
	var b bytes.Buffer
	l := newLevels(&b)
	loud, quiet := l.Logger("loud"), l.Logger("quiet").With("k", "v")
	said := func(f func()) bool {
		b.Reset()
		f()
		return b.Len() > 0
	}
	if said(func() { loud.Debug("x") }) || !said(func() { loud.Info("x") }) {
		t.Error("a new logger does not have the root's level")
	}
	if err := l.Set("loud", slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	if !said(func() { loud.Debug("x") }) || said(func() { quiet.Debug("x") }) {
		t.Error("a level counts for the wrong logger")
	}
	if err := l.Set(Root, slog.LevelError); err != nil {
		t.Fatal(err)
	}
	if said(func() { quiet.Warn("x") }) || !said(func() { loud.Debug("x") }) {
		t.Error("the root's level does not count for the others, or beats a logger's own")
	}
	if err := l.Reset("loud"); err != nil {
		t.Fatal(err)
	}
	if said(func() { loud.Warn("x") }) || !said(func() { quiet.Error("x") }) || !strings.Contains(b.String(), "k=v") {
		t.Error("a logger that was reset does not follow the root")
	}
}

// TestUnknownLoggers are refused, and the root keeps a level.
func TestUnknownLoggers(t *testing.T) {
	l := newLevels(&bytes.Buffer{})
	if err := l.Set("none", slog.LevelInfo); !errors.Is(err, ErrLogger) {
		t.Errorf("set: %v", err)
	}
	if err := l.Reset("none"); !errors.Is(err, ErrLogger) {
		t.Errorf("reset: %v", err)
	}
	if err := l.Reset(Root); !errors.Is(err, ErrRoot) {
		t.Errorf("reset the root: %v", err)
	}
	if l.Exists("none") || !l.Exists(Root) {
		t.Error("what exists is not told from what does not")
	}
}

// TestNames goes from names to levels and back.
func TestNames(t *testing.T) {
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		level, err := Parse(name)
		if err != nil || Name(level) != name {
			t.Errorf("%s: %v, %v", name, level, err)
		}
	}
	for _, name := range []string{"debug", "OFF", ""} {
		if _, err := Parse(name); !errors.Is(err, ErrLevel) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := Name(slog.LevelInfo + 1); got != "WARN" {
		t.Errorf("between INFO and WARN: %s", got)
	}
}

// TestOf finds the levels behind a logger, and makes some for any other.
func TestOf(t *testing.T) {
	var b bytes.Buffer
	l := newLevels(&b)
	if Of(l.Logger(Root)) != l || Of(l.Logger("a").With("k", "v")) != l {
		t.Error("the levels of their own loggers are not found")
	}
	plain := Of(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn})))
	plain.Logger("a")
	if all := plain.All(); len(all) != 2 || all[0] != (Logger{"a", slog.LevelWarn}) || all[1] != (Logger{Root, slog.LevelWarn}) {
		t.Errorf("got %v", all)
	}
}

// TestSilenceIsCheap holds the price of records that nobody wants.
func TestSilenceIsCheap(t *testing.T) {
	log := newLevels(&bytes.Buffer{}).Logger("a")
	if n := testing.AllocsPerRun(100, func() { log.Debug("x") }); n != 0 {
		t.Errorf("%v allocs, want 0", n)
	}
}
