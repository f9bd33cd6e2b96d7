package plugin

import (
	"encoding/json"
	"slices"
)

// Bounds of a Description; what is beyond them is refused when it is read.
const (
	MaxDescriptions   = 64
	MaxFeatures       = 64
	MaxSchemaBytes    = 64 << 10
	MaxSummaryBytes   = 256
	MaxVersionBytes   = 64
	MaxConfigBytes    = 1 << 20
	MaxFeatureBytes   = 64
	MaxInstanceBytes  = 128
	MaxErrorTextBytes = 1 << 10
)

// Description is what a plugin says about itself: the fields of Plugin that are not
// functions.
type Description struct {
	Kind     Kind            `json:"kind"`
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Summary  string          `json:"summary,omitempty"`
	Features []string        `json:"features,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"`
}

// Describe is what the plugin says about itself.
func (p Plugin) Describe() Description {
	return Description{p.Kind, p.Name, p.Version, p.Summary, slices.Clone(p.Features), slices.Clone(p.Schema)}
}

// Has says whether the plugin names the feature.
func (d Description) Has(feature string) bool { return slices.Contains(d.Features, feature) }
