// Package metrics counts what a broker does: counters, gauges and histograms
// whose hot operations are one atomic instruction and allocate nothing.
//
// It owns the numbers and their names (mortise_ROOM_WHAT_UNIT). It must not know
// how they are shown: the admin listener turns Snapshot into Prometheus text.
//
// Invariants: a name has one kind and one help text; the same name and labels
// give the same instrument; a family holds at most SeriesMax series, and what
// comes later shares one series whose label values are "other", so that no
// client can make memory grow by what it names.
//
// Lock order: Registry.mu only; instruments have no lock.
package metrics
