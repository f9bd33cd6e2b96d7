//go:build invariants

package server

// scribble spoils memory that nobody may use any more, so that a test sees it
// when somebody does.
func scribble(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
