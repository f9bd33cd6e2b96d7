package record

// The default limits of decompression. A producer's batch is at most
// max.message.bytes (1 MiB unless configured) on the wire, so the defaults let
// every honest batch pass and stop one that was made to exhaust memory.
const (
	// DefaultMaxDecompressedBytes bounds one batch's records area.
	DefaultMaxDecompressedBytes = 128 << 20
	// DefaultMaxRatio bounds how many times the records area may grow. Logs reach 20
	// to 100 times, equal records over 500.
	DefaultMaxRatio = 1000
	// RatioFloor is the size up to which the ratio does not matter: a producer that
	// sends equal records fills its 16 KiB with megabytes of them.
	RatioFloor = 16 << 20
)

// DecompressLimits bounds what one batch may become in memory. A zero field
// stands for its default.
type DecompressLimits struct {
	MaxBytes int // of the decompressed records area
	MaxRatio int // decompressed to compressed, above RatioFloor
}

// bytes is the limit for a records area of n compressed bytes.
func (l DecompressLimits) bytes(n int) int {
	most, ratio := l.MaxBytes, l.MaxRatio
	if most <= 0 {
		most = DefaultMaxDecompressedBytes
	}
	if ratio <= 0 {
		ratio = DefaultMaxRatio
	}
	if n < most/ratio {
		return min(most, max(n*ratio, RatioFloor))
	}
	return most
}
