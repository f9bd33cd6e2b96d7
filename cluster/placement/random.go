package placement

// generator is SplitMix64 (Steele, Lea, Flood 2014). The standard library does
// not promise that its bounded numbers stay the same from release to release.
type generator uint64

// next is the next 64 random bits.
func (g *generator) next() uint64 {
	*g += 0x9e3779b97f4a7c15
	z := uint64(*g)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number in [0, n). The bias of the remainder, n/2⁶⁴, does not matter
// for placing replicas.
func (g *generator) below(n int) int { return int(g.next() % uint64(n)) }

// shuffle puts a row in a random order.
func shuffle[T any](g *generator, row []T) {
	for i := len(row) - 1; i > 0; i-- {
		j := g.below(i + 1)
		row[i], row[j] = row[j], row[i]
	}
}
