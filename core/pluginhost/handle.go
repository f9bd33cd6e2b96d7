package pluginhost

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// handle finds who has a name now. It outlives generations, entries and their
// absence.
type handle struct {
	host *Host
	name string
	kind plugin.Kind
}

// Name is the plugin's in the catalogue.
func (h *handle) Name() string { return h.name }

// Features are those of the plugin in service, not to be changed; nil: nobody is.
func (h *handle) Features() []string {
	if g := h.generation(); g != nil {
		return g.about.Features
	}
	return nil
}

// Has says whether the plugin in service names the feature.
func (h *handle) Has(feature string) bool { return slices.Contains(h.Features(), feature) }

// Generation numbers who is in service; 0: nobody. What was remembered of another
// one's answers may be wrong now.
func (h *handle) Generation() uint64 {
	if g := h.generation(); g != nil {
		return g.number
	}
	return 0
}

func (h *handle) generation() *generation {
	if s := h.slot(); s != nil {
		return s.current.Load()
	}
	return nil
}

// slot is the entry's; nil: there is none of that kind. Hot: one atomic load and a
// look into a map that never changes.
func (h *handle) slot() *slot {
	s := (*h.host.slots.Load())[h.name]
	if s == nil || s.kind != h.kind {
		return nil
	}
	return s
}

func (h *handle) missing() error { return fmt.Errorf("%s %q: %w", h.kind, h.name, ErrNotFound) }
