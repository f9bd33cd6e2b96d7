package output

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress shows how far long work has come. On anything but a terminal it
// shows nothing. Its methods belong to one goroutine.
type Progress struct{ bar *progressbar.ProgressBar }

// NewProgress starts a bar over total units; -1 means that the end is not
// known. bytes says that the units are bytes.
func NewProgress(w io.Writer, what string, total int64, bytes bool) *Progress {
	if !IsTerminal(w) {
		return &Progress{}
	}
	return &Progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// IsTerminal reports whether a reader or writer is a terminal, so that a person
// sits there.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Empty reports whether there is no bar to see.
func (p *Progress) Empty() bool { return p.bar == nil }

// Set moves the bar to done units.
func (p *Progress) Set(done int64) {
	if p.bar != nil {
		_ = p.bar.Set64(done) // a bar that can't be drawn is no reason to stop work
	}
}

// Finish clears the bar.
func (p *Progress) Finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
