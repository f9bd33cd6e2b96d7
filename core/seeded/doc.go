// Package seeded checks properties with inputs that are drawn by chance, the same ones in
// every run: a test that passed once passes again until the code changes.
//
// It owns the seed. What is checked is the caller's, how it is drawn and made smaller is
// rapid's. Only tests import it.
//
// Other inputs: go test -rapid.seed=N -rapid.checks=N, and make soak, which tries seeds
// that nobody has tried. A seed that fails there becomes a test of its own.
package seeded
