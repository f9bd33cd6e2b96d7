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
// stopped. It gets no place in the Host, and no instance, except where it would take
// the place of a deterministic partitioner: then it must send keys where that does. A
// catalogue that had it otherwise would move them when the broker starts again, because
// then nobody serves before it. An error tells the last that the plugin wrote.
func (h *Host) Try(ctx context.Context, s *Spec) (about plugin.Description, err error) {
	if err := s.Check(); err != nil {
		return about, err
	}
	wrote := newJournal()
	log := func(raw []byte) { wrote.add(time.Time{}, 0, raw) }
	process, err := h.launch(ctx, s, log)
	if err != nil {
		return about, fmt.Errorf("launch: %w", err) // which has what it wrote
	}
	g := &generation{spec: s.clone(), process: process}
	g.prepare()
	err = take(ctx, h.trial(g))
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMax)
	defer cancel()
	if stopped := g.stop(stop, true); err != nil {
		if !errors.Is(err, plugin.ErrPanicked) { // which says where, and wrote its stack
			err = fmt.Errorf("%w%s", err, lastWords(wrote))
		}
		return about, errors.Join(err, stopped)
	}
	return g.about, nil
}

// trial is what an entry has to pass before a catalogue has it.
func (h *Host) trial(g *generation) []step {
	now := (*h.slots.Load())[g.spec.Name]
	if now == nil || now.kind != g.spec.Kind || now.sample.Load() == nil {
		return g.looks()
	}
	return append(g.looks(),
		step{"configure", configureMax, func(ctx context.Context) error { return now.configure(ctx, g) }},
		step{"canary", g.spec.firstAnswer(), func(ctx context.Context) error { return now.canary(ctx, g, nil) }})
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
