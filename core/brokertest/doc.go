// Package brokertest runs a broker inside a test: on memory disk and network, or
// on those of the operating system, with a Control that decides in memory.
//
// It owns the harness. It must not know what a request answers. A test starts a
// broker, talks to it, and may crash or restart it on the same disk; the control
// plane lives on beside it, as a cluster outlives a broker. For a broker with its
// real control plane see the cluster rooms.
package brokertest
