package golden

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Counts are the numbers of partitions of every table.
func Counts() []int32 { return []int32{1, 2, 3, 5, 8, 12, 50, 100, 997} }

// samples is how many of the first keys tables show.
const samples = 32

// Keys are the keys of every table, always the same: a null key, an empty one, ids,
// numbers, non-ASCII text, bytes that are no text, every length up to 100 and some
// long ones.
func Keys() [][]byte {
	const count = 10_000
	r := rand.New(rand.NewPCG(4, 4))
	keys := [][]byte{nil, {}}
	for _, word := range []string{
		"a", "ab", "abc", "abcd", "abcde", "key", "user-1", "user-2", "0", "1", "42", "-7", "9223372036854775807",
		"été", "Köln", "東京", "Привет", "🦫", "e\u0301", "null", "kafka", " ", "\x00", "\xff\xfe", "\x80\x80\x80",
		"eu-1", "eu-archive-1", "us-1", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "a b\tc\nd",
	} {
		keys = append(keys, []byte(word))
	}
	letters := []rune("aäbçdéeøñзияж东京語한글😀z")
	for size := 1; size <= 100; size++ {
		keys = append(keys, randomBytes(r, size))
	}
	for _, size := range []int{255, 256, 1000, 1023, 1024, 4096, 65_537} {
		keys = append(keys, randomBytes(r, size))
	}
	for i := len(keys); i < count; i++ {
		switch i % 5 {
		case 0:
			keys = append(keys, fmt.Appendf(nil, "user-%d", r.IntN(1_000_000)))
		case 1:
			keys = append(keys, fmt.Appendf(nil, "%d", r.Int64()))
		case 2:
			text := make([]rune, 1+r.IntN(12))
			for i := range text {
				text[i] = letters[r.IntN(len(letters))]
			}
			keys = append(keys, []byte(string(text)))
		case 3:
			keys = append(keys, fmt.Appendf(nil, "%08x-%04x-4%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.Int64N(1<<48)))
		default:
			keys = append(keys, randomBytes(r, 1+r.IntN(40)))
		}
	}
	return slices.Clip(keys)
}

func randomBytes(r *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
