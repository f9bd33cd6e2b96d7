//go:build !race

package host

// raceDetector says that this is a build for it: it wants more memory than any limit.
const raceDetector = false
