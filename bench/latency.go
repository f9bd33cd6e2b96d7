package main

import (
	"slices"
	"time"
)

// latencies are single measurements.
type latencies []time.Duration

// at is the quantile q, for example 0.99; zero when there are none.
func (l latencies) at(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Clone(l)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
