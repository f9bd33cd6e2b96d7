// Package skeleton writes the beginning of a plugin: a program that works, its test
// with the conformance kit, and a README, in Go or in Python.
//
// It owns the templates. It must not know how a plugin is checked or installed, but for
// the commands in the README that it writes. It imports package plugin for the kinds.
//
// Invariant: what it writes keeps its contract as it is, for every kind in both
// languages, so that whoever changes it begins with a kit that passes.
package skeleton
