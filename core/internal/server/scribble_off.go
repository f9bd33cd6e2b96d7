//go:build !invariants

package server

// scribble does something only with the invariants tag.
func scribble([]byte) {}
