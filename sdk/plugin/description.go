package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// check says what no asker would take.
func (d Description) check() error {
	long := slices.ContainsFunc(d.Features, func(f string) bool { return len(f) > MaxFeatureBytes })
	switch {
	case len(d.Version) > MaxVersionBytes:
		return fmt.Errorf("plugin %s: version of %d bytes, at most %d", d.Name, len(d.Version), MaxVersionBytes)
	case len(d.Summary) > MaxSummaryBytes || strings.ContainsFunc(d.Summary, unicode.IsControl) || !utf8.ValidString(d.Summary):
		return fmt.Errorf("plugin %s: the summary is one line of at most %d bytes", d.Name, MaxSummaryBytes)
	case len(d.Features) > MaxFeatures || long:
		return fmt.Errorf("plugin %s: at most %d features of %d bytes", d.Name, MaxFeatures, MaxFeatureBytes)
	case len(d.Schema) > MaxSchemaBytes || len(d.Schema) > 0 && !json.Valid(d.Schema):
		return fmt.Errorf("plugin %s: the schema is JSON of at most %d bytes", d.Name, MaxSchemaBytes)
	}
	return nil
}

// Has says whether the plugin names the feature.
func (d Description) Has(feature string) bool { return slices.Contains(d.Features, feature) }
