package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// process makes a Process whose stop takes as long as stop says.
func process(signals <-chan os.Signal, log *bytes.Buffer, stop func(context.Context) error) Process {
	return Process{
		Log: slog.New(slog.NewTextHandler(log, nil)), Signals: signals, Stop: stop,
		StopTimeout: func() time.Duration { return time.Minute },
		Reload:      func() error { return errors.New("m.yaml:2: node.id") },
	}
}

func TestStopsGracefully(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		var log bytes.Buffer
		signals <- syscall.SIGHUP // fails, changes nothing
		signals <- syscall.SIGTERM
		err := process(signals, &log, func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			if until := time.Until(deadline); until != time.Minute {
				t.Errorf("the stop has %s", until)
			}
			time.Sleep(time.Second)
			return nil
		}).Run()
		if err != nil || !strings.Contains(log.String(), "m.yaml:2") || !strings.Contains(log.String(), "msg=stopped") {
			t.Errorf("%v\n%s", err, log.String())
		}
	})
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		var log bytes.Buffer
		done := make(chan error)
		go func() {
			done <- process(signals, &log, func(ctx context.Context) error { <-ctx.Done(); return nil }).Run()
		}()
		start := time.Now()
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM // the same one again, from a tool that signals the group
		signals <- syscall.SIGHUP
		time.Sleep(echo + 1) // the bubble's clock
		signals <- syscall.SIGINT
		if err := <-done; !errors.Is(err, ErrForced) || time.Since(start) != echo+1 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		time.Sleep(time.Minute) // the bubble's clock: lets the abandoned stop end
	})
}

func TestLoggerFormats(t *testing.T) {
	for format, want := range map[string]string{"text": "level=INFO", "json": `"level":"INFO"`, "auto": `"level":"INFO"`} {
		var out bytes.Buffer
		level := &slog.LevelVar{}
		log := NewLogger(&out, format, level)
		log.Info("x", "took", 1500*time.Millisecond)
		if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "1.5s") {
			t.Errorf("%s: %s", format, out.String())
		}
		if err := SetLevel(level, "error"); err != nil {
			t.Fatal(err)
		}
		if log.Enabled(t.Context(), slog.LevelInfo) {
			t.Errorf("%s: the level did not change", format)
		}
	}
	if err := SetLevel(&slog.LevelVar{}, "loud"); err == nil {
		t.Error("level loud was taken")
	}
}
