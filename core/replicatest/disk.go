package replicatest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/mortisemq/mortise/core/vfs"
)

// diskRoom is what a full disk still has for small files, in bytes.
const diskRoom = 512

// Disk is a machine with the real logs on a disk in memory.
type Disk struct{ fs *vfs.Mem }

// NewDisk makes a machine with an empty disk.
func NewDisk() *Disk { return &Disk{vfs.NewMem()} }

// Start implements Machine.
func (d *Disk) Start(env Env) (Replicas, error) {
	d.fs.ReleaseLocks()
	p, err := newProcess(d.fs, env)
	if err != nil {
		return nil, fmt.Errorf("start broker %d: %w", env.ID, err)
	}
	return p, nil
}

// PowerCut implements Machine: anything between all and nothing of what was not
// synced is there afterwards, maybe torn.
func (d *Disk) PowerCut(r *rand.Rand) {
	keep := []float64{0, 0.5, 0.9}[r.IntN(3)]
	d.fs = d.fs.Crash(vfs.CrashOptions{KeepUnsynced: keep, Torn: keep > 0 && r.IntN(2) == 0, Rand: r})
}

// Wipe implements Machine.
func (d *Disk) Wipe() { d.fs = vfs.NewMem() }

// Fill implements Machine.
func (d *Disk) Fill(full bool) {
	d.fs.SetCapacity(0)
	if u, err := d.fs.Usage("/"); full && err == nil {
		d.fs.SetCapacity(int64(u.Total-u.Available) + diskRoom)
	}
}

// teller is a log handler that hands lines to Env.Trace.
type teller struct {
	tell  func(string)
	attrs []slog.Attr
}

// logger is where a process's rooms log to.
func (e *Env) logger() *slog.Logger {
	if e.Trace == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(teller{tell: e.Trace})
}

// Enabled implements slog.Handler.
func (teller) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (t teller) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	for _, a := range t.attrs {
		line += " " + a.String()
	}
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	t.tell(line)
	return nil
}

// WithAttrs implements slog.Handler.
func (t teller) WithAttrs(attrs []slog.Attr) slog.Handler {
	t.attrs = append(t.attrs[:len(t.attrs):len(t.attrs)], attrs...)
	return t
}

// WithGroup implements slog.Handler.
func (t teller) WithGroup(string) slog.Handler { return t }

var (
	_ Machine = (*Disk)(nil)
	_ Machine = (*Model)(nil)
)
