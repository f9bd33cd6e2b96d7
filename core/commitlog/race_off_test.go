//go:build !race

package commitlog

// raceDetector says that pools drop items at random, so that allocations can't be
// counted.
const raceDetector = false
