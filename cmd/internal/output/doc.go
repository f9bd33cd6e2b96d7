// Package output is how commands speak to people and to scripts: tables or JSON
// on standard output, progress on standard error, and exit codes.
//
// It owns the form of what is printed, never the facts. Text goes to people and
// may change; JSON is for scripts, and its field names stay.
package output
