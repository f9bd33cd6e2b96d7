package placement

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Broker is a broker that may hold replicas.
type Broker struct {
	ID     kafka.BrokerID
	Fenced bool // may hold replicas when the others don't suffice; never leads
}

// Placer hands out replica lists, one partition after the other. It belongs to
// one goroutine.
type Placer struct {
	unfenced, fenced []kafka.BrokerID
	random           generator
	start            int // where in unfenced the next partition begins
	used             int // partitions since the last shuffle
}

// New makes a placer for the brokers, in any order. last is the leader of the
// partition before the first new one, so that a growing topic goes on where it
// stopped; kafka.NoBroker: start anywhere.
func New(brokers []Broker, seed uint64, last kafka.BrokerID) *Placer {
	p := &Placer{random: generator(seed)}
	for _, b := range brokers {
		if b.Fenced {
			p.fenced = append(p.fenced, b.ID)
		} else {
			p.unfenced = append(p.unfenced, b.ID)
		}
	}
	slices.Sort(p.unfenced)
	slices.Sort(p.fenced)
	if at := slices.Index(p.unfenced, last); at >= 0 {
		p.start = at + 1
	} else if len(p.unfenced) > 0 {
		p.start = p.random.below(len(p.unfenced))
	}
	return p
}

// Next is the replica list of the next partition; the first one leads. The
// caller has checked that 0 < factor ≤ brokers and that one is not fenced.
func (p *Placer) Next(factor int) []kafka.BrokerID {
	if all := len(p.unfenced) + len(p.fenced); factor <= 0 || factor > all || len(p.unfenced) == 0 {
		panic(fmt.Sprintf("BUG: %d replicas on %d brokers, %d of them not fenced", factor, all, len(p.unfenced)))
	}
	if p.used == len(p.unfenced) && len(p.unfenced) > 1 {
		p.random.shuffle(p.unfenced)
		p.random.shuffle(p.fenced)
		p.used = 0
	}
	replicas := make([]kafka.BrokerID, 0, factor)
	for n := 0; n < len(p.unfenced) && len(replicas) < factor; n++ {
		replicas = append(replicas, p.unfenced[(p.start+n)%len(p.unfenced)])
	}
	for n := 0; len(replicas) < factor; n++ {
		replicas = append(replicas, p.fenced[(p.start+n)%len(p.fenced)])
	}
	p.start++
	p.used++
	return replicas
}

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

// shuffle puts ids in a random order.
func (g *generator) shuffle(ids []kafka.BrokerID) {
	for i := len(ids) - 1; i > 0; i-- {
		j := g.below(i + 1)
		ids[i], ids[j] = ids[j], ids[i]
	}
}
