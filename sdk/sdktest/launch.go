package sdktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mortisemq/mortise/sdk/host"
)

const (
	startTime = 5 * time.Second // a broker gives twice as much, a loaded machine takes it
	endTime   = 2 * time.Second // after Shutdown or the broker's death
	// answerTime is for an answer that need not come fast: a loaded machine takes it.
	answerTime = 10 * time.Second
	// longDirectory is the longest RunDir that works on every system.
	longDirectory = 103 - (12 + 21 + 17)
)

func launchChecks() []check {
	all := []check{
		{name: "launch/start", says: "it makes its handshake within 5 s and is healthy", timed: true, run: checkStart},
		{name: "launch/output", says: "its standard output is one line, the handshake", timed: true, run: checkOutput},
		{name: "launch/certificates", says: "it talks to the holder of the broker's certificate only", run: checkCertificates},
		{name: "launch/directory", says: "it works where the path of its socket is long", run: checkDirectory},
		{name: "launch/by-hand", says: "started by a person it ends, without a handshake", timed: true, run: checkByHand},
		{name: "launch/interrupt", says: "an interrupt, which is for the broker, does not end it", run: checkInterrupt},
		{name: "launch/shutdown", says: "it ends within 2 s after the broker said so", timed: true, run: checkShutdown},
		{name: "launch/orphan", says: "it ends within 2 s after the broker died", timed: true, run: checkOrphan},
	}
	for i := range all {
		all[i].ways = []string{WayProgram}
	}
	return all
}

// launch starts the program as a broker does, which gives it a time; 0: a broker's.
func (b *bench) launch(ctx context.Context, runDir string, within time.Duration) (*host.Process, error) {
	c := b.subject.Source.command
	c.Stderr, c.StartTimeout = b.logs.add, within
	if runDir != "" {
		c.RunDir = runDir
	}
	return host.Launch(ctx, c)
}

func checkStart(ctx context.Context, b *bench) error {
	p, err := b.launch(ctx, "", startTime)
	if err != nil {
		return err
	}
	defer b.stop(p)
	return p.Health(ctx)
}

func checkOutput(ctx context.Context, b *bench) error {
	p, err := startBare(ctx, b, bareOptions{})
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.ask(ctx, p.identity); err != nil {
		return fmt.Errorf("after the handshake: %w", err)
	}
	if err := p.terminate(); err != nil {
		return err
	}
	rest, err := p.readAll(b.waits.end)
	if err != nil {
		return fmt.Errorf("after SIGTERM: %w", err)
	}
	if strings.TrimSpace(rest) != "" {
		return fmt.Errorf("it prints more after the handshake: %.200q", rest)
	}
	return nil
}

func checkCertificates(ctx context.Context, b *bench) error {
	p, err := startBare(ctx, b, bareOptions{})
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.askOpenly(ctx); err == nil {
		return errors.New("it answers who comes without TLS")
	}
	other, err := newIdentity()
	if err != nil {
		return err
	}
	if err := p.ask(ctx, other); err == nil {
		return errors.New("it answers who comes with another certificate")
	}
	if err := p.ask(ctx, p.identity); err != nil {
		return fmt.Errorf("it does not answer the broker's certificate: %w", err)
	}
	return nil
}

func checkDirectory(ctx context.Context, b *bench) error {
	short, err := os.MkdirTemp("", "k")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	if len(short)+2 > longDirectory {
		return skipped("the directory for temporary files has a long name already: " + short)
	}
	long := filepath.Join(short, strings.Repeat("d", longDirectory-len(short)-1))
	if err := os.Mkdir(long, 0o700); err != nil {
		return err
	}
	p, err := b.launch(ctx, long, 0)
	if err != nil {
		return err
	}
	defer b.stop(p)
	return p.Health(ctx)
}

func checkByHand(ctx context.Context, b *bench) error {
	p, err := startBare(ctx, b, bareOptions{byHand: true})
	if err != nil {
		return err
	}
	defer p.close()
	text, err := p.readAll(startTime)
	if err != nil {
		return fmt.Errorf("it does not end: %w", err)
	}
	if _, err := p.parse(text); err == nil {
		return errors.New("it makes a handshake with a person: look for the cookie in the environment")
	}
	return nil
}

func checkInterrupt(ctx context.Context, b *bench) error {
	p, err := b.launch(ctx, "", 0)
	if err != nil {
		return err
	}
	defer b.stop(p)
	process, err := os.FindProcess(p.PID())
	if err != nil {
		return err
	}
	if err := process.Signal(os.Interrupt); err != nil {
		return skipped(fmt.Sprintf("no interrupts here: %v", err))
	}
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for range 20 { // a signal takes its time
		if err := p.Health(ctx); err != nil {
			return fmt.Errorf("after an interrupt: %w", err)
		}
		<-ticks.C
	}
	return nil
}

func checkShutdown(ctx context.Context, b *bench) error {
	p, err := b.launch(ctx, "", 0)
	if err != nil {
		return err
	}
	if b.described, err = b.find(ctx, p); err == nil {
		_, err = b.instance(ctx, p) // which it has to let go of
	}
	if err != nil {
		b.stop(p)
		return err
	}
	began := time.Now()
	if err := p.Stop(ctx); err != nil {
		return err
	}
	if took := time.Since(began); took >= endTime { // Stop kills then
		return fmt.Errorf("it had to be killed after %s", took.Round(time.Millisecond))
	}
	return nil
}

func checkOrphan(ctx context.Context, b *bench) error {
	if _, err := os.Stat("/bin/sh"); err != nil {
		return skipped("no /bin/sh that could be its broker")
	}
	p, err := startBare(ctx, b, bareOptions{orphan: true})
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	if _, err := p.readAll(b.waits.end); err != nil {
		return fmt.Errorf("its broker is dead, and it still holds its standard output: %w", err)
	}
	return nil
}
