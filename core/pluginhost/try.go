package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// tryLines is how much of what a plugin wrote goes into the error of Try.
const tryLines = 3

// Try says whether an entry could serve, and as what, before a catalogue has it: it
// is checked, launched, held to what it says it is and shown its config, then it is
// stopped. It gets no instance and no place in the Host. An error tells the last that
// the plugin wrote.
func (h *Host) Try(ctx context.Context, s *Spec) (about plugin.Description, err error) {
	if err := s.Check(); err != nil {
		return about, err
	}
	var wrote journal
	log := func(raw []byte) { wrote.add(time.Time{}, 0, raw) }
	process, err := h.launch(ctx, s, log)
	if err != nil {
		return about, fmt.Errorf("launch: %w", err) // which has what it wrote
	}
	g := &generation{spec: s.clone(), process: process}
	g.prepare()
	err = take(ctx, g.looks())
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMax)
	defer cancel()
	if stopped := g.stop(stop, true); err != nil {
		return about, errors.Join(fmt.Errorf("%w%s", err, lastWords(&wrote)), stopped)
	}
	return g.about, nil
}

// lastWords are the last lines of a journal as the end of an error.
func lastWords(j *journal) string {
	lines := j.all()
	var last []string
	for _, l := range lines[max(0, len(lines)-tryLines):] {
		last = append(last, l.Text)
	}
	if len(last) == 0 {
		return ""
	}
	return fmt.Sprintf("; it wrote %q", strings.Join(last, " / "))
}
