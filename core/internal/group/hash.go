package group

import (
	"math"
	"unicode/utf16"
)

// Partition is the partition of __consumer_offsets that keeps a group, of count: as
// in Kafka by Java's String.hashCode, which counts UTF-16 units.
func Partition(group string, count int32) int32 {
	var h int32
	for _, unit := range utf16.Encode([]rune(group)) {
		h = 31*h + int32(unit)
	}
	if h == math.MinInt32 { // has no absolute value; Kafka says 0
		return 0
	}
	return max(h, -h) % count
}
