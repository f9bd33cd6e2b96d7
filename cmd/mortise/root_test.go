package main

import (
	"strings"
	"testing"
)

// TestWrongCommandLinesSayWhatIsRight: a slip of the finger is guessed at, and whoever
// leaves an argument out sees all of them.
func TestWrongCommandLinesSayWhatIsRight(t *testing.T) {
	for line, want := range map[string]string{
		"topc list":     `mortise has no sub-command "topc" (did you mean topic?); see mortise --help`,
		"cluster drian": `mortise cluster has no sub-command "drian" (did you mean drain?); see mortise cluster --help`,
		"cluster xyzzy": `mortise cluster has no sub-command "xyzzy"; see mortise cluster --help`,
		"topic create":  "write mortise topic create NAME… [flags]; see mortise topic create --help",
		"user add bob":  "write mortise user add NAME FILE [flags]; see mortise user add --help",
	} {
		fails(t, "", "", 2, want, strings.Fields(line)...)
	}
}
