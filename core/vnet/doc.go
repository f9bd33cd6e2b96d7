// Package vnet is the seam for networks: listening and dialling, so that a test
// can have a network in memory that is cut, slow or broken on purpose.
//
// It owns the operating system's network (OS) and one in memory with named hosts
// (Mem), both for connections and for packets. It must not know what is said.
//
// Invariants of Mem: a stream keeps its order; it never invents bytes; one that
// lost bytes in a cut breaks when the cut is healed; a packet never makes its
// sender wait. Waiting is on channels, so that a Mem works inside a
// testing/synctest bubble.
//
// Lock order: pipe.mu before Mem.mu; deadline.mu alone.
package vnet
