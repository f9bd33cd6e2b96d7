package tool

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// Level says how bad a finding is.
type Level int

// The levels.
const (
	// Note is something to know that is no damage: a gap that compaction leaves, a
	// file that belongs to nothing.
	Note Level = iota
	// Damage is data or an index that a reader cannot trust.
	Damage
)

// String is "note" or "damage".
func (l Level) String() string {
	if l == Damage {
		return "damage"
	}
	return "note"
}

// NoPosition stands for a finding about a whole file.
const NoPosition int64 = -1

// MarshalText makes JSON say the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Finding is one thing that Inspect saw.
type Finding struct {
	Level    Level        `json:"level"`
	File     string       `json:"file"`
	Position int64        `json:"position"` // in bytes from the start of File, or NoPosition
	Offset   kafka.Offset `json:"offset"`   // or kafka.NoOffset
	Problem  string       `json:"problem"`
}

// String is one line for people.
func (f Finding) String() string {
	s := f.Level.String() + ": " + f.File
	if f.Position != NoPosition {
		s += fmt.Sprintf(" position %d", f.Position)
	}
	if f.Offset != kafka.NoOffset {
		s += fmt.Sprintf(" offset %d", f.Offset)
	}
	return s + ": " + f.Problem
}

// Report is what Inspect looked at and saw.
type Report struct {
	Findings []Finding
	Dropped  [2]int // findings over MaxFindings, by level
	Files    int
	Bytes    int64
	Batches  int64
	Records  int64
}

// Damaged tells whether any finding is Damage.
func (r *Report) Damaged() bool {
	for _, f := range r.Findings {
		if f.Level == Damage {
			return true
		}
	}
	return false
}
