package sdktest

import (
	"fmt"
	"io"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Outcome of a case.
type Outcome string

// The outcomes. A skip says that the case can't be decided for this plugin.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	Skip Outcome = "skip"
)

// Case is what became of one case.
type Case struct {
	Name    string  `json:"name"` // "base/describe"
	Says    string  `json:"says"` // what must hold
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"` // of a failure or a skip
	Millis  int64   `json:"ms"`
}

// Report is what became of all cases.
type Report struct {
	Plugin plugin.Description `json:"plugin"`
	Way    string             `json:"way"`              // WayValues, WayInProcess or WayProgram
	SHA256 string             `json:"sha256,omitempty"` // of the program's file
	Cases  []Case             `json:"cases"`
}

// Passed says whether no case failed and at least one passed.
func (r *Report) Passed() bool { return r.count(Fail) == 0 && r.count(Pass) > 0 }

func (r *Report) count(o Outcome) int {
	n := 0
	for _, c := range r.Cases {
		if c.Outcome == o {
			n++
		}
	}
	return n
}

// WriteText writes the report for people: a line for each case, and a sum.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.printf("%s %s %s, %s", r.Plugin.Kind, r.Plugin.Name, r.Plugin.Version, r.Way)
	if r.SHA256 != "" {
		p.printf(", sha256 %s", r.SHA256)
	}
	p.printf("\n")
	for _, c := range r.Cases {
		p.printf("  %-4s  %-28s %s\n", c.Outcome, c.Name, c.Says)
		if c.Why != "" {
			p.printf("        %-28s %s\n", "", c.Why)
		}
	}
	p.printf("%d passed, %d failed, %d skipped\n", r.count(Pass), r.count(Fail), r.count(Skip))
	return p.err
}

// printer keeps the first error of a series of prints.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
