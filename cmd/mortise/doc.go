// Command mortise is the broker and every tool for it: one binary.
//
// It is the only place that knows everybody, and it holds no logic: each file
// is one command, which reads its flags, calls a room that does the work, and
// prints what came of it. catalog.go is the one list of built-in plugins.
//
// Exit codes: 0 done; 1 the command ran and something is wrong; 2 the command
// line or the settings are wrong and nothing was done.
package main
