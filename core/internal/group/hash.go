package group

import (
	"math"
	"unicode/utf16"
)

// Partition is the partition of __consumer_offsets that keeps a group, of count: as
// in Kafka by Java's String.hashCode, which counts UTF-16 units.
func Partition(group string, count int32) int32 {
	h := hashCode(group)
	if h == math.MinInt32 { // has no absolute value; Kafka says 0
		return 0
	}
	return max(h, -h) % count
}

// hashCode is Java's String.hashCode.
func hashCode(s string) (h int32) {
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(unit)
	}
	return h
}

// bucket is the place of a text among few in a hash table of Java's, whose order
// decides where Kafka takes the first of equals.
func bucket(s string) uint32 {
	const buckets = 16 // of a java.util.HashMap with up to 12 entries
	h := uint32(hashCode(s))
	return (h ^ h>>16) % buckets
}
