// Package daemon is the life of a long-running process around a node: signals,
// reload, a graceful stop with a bound, and the log.
//
// It owns what SIGTERM, SIGINT and SIGHUP do. It must not know what a node is
// made of: it is handed functions.
//
// Invariants: a second stop signal, unless it is the first one's echo, ends the
// wait at once; a reload that fails leaves everything as it was.
package daemon
