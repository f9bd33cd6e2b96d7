// Package clock is the seam for time: what a broker asks for "now" and for a
// call later. Every component gets a Clock in its options, so that a test or a
// simulated node can have a time of its own.
//
// It owns no state. Under testing/synctest the System clock is already fake, so
// most tests use it there; Manual is for tests that step time by hand.
package clock
