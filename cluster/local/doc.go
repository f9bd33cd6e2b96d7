// Package local runs a cluster as processes of one binary on the loopback
// addresses of this machine, or in networks that the caller has made on it: what
// `mortise dev cluster` shows to a newcomer, and what conformance breaks on purpose.
//
// It owns the ports and folders of the nodes, their settings files, and their
// processes. It knows the binary only by its command line (serve --config FILE)
// and must not know what is inside of it.
//
//	DIR/node-1/mortise.yaml  written before each start
//	DIR/node-1/mortise.log   what the process wrote, of all starts
//	DIR/node-1/data/         the node's own
//
// Invariants: a process that was started here ends with this process, also when
// this one is killed (on Linux). No variable of this process's environment changes
// what a settings file says.
package local
