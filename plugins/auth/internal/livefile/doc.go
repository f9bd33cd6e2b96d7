// Package livefile reads a file again when it changes.
//
// It owns when that happens: the file is looked at every Period, and what the loader
// refuses changes nothing, is logged once, and is tried again when the file changes
// again. It must not know what is in the file. It imports only the standard library.
//
// A file should be replaced by renaming another one over it: one that is written in
// place may be read half. What is read half is refused or read again when it is
// complete, because its time or size changes once more.
//
// Costs: a stat each Period; a read when time, size or identity differ, and while the
// file is so young that a second change might not show in its time.
package livefile
