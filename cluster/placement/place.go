package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Broker is a broker that may hold replicas.
type Broker struct {
	ID     kafka.BrokerID
	Rack   string // brokers without one are in one rack together
	Fenced bool   // may hold replicas when the others don't suffice; never leads
}

// Placer hands out replica lists, one partition after the other. It belongs to
// one goroutine.
type Placer struct {
	racks             []*rack
	unfenced, brokers int // in all racks
	random            generator
	start             int // the rack that the next partition begins with
	used              int // partitions since the last shuffle
}

// New makes a placer for the brokers, in any order. last are the replicas of the
// partition before the first new one, so that a growing topic goes on where it
// stopped; nil: start anywhere.
func New(brokers []Broker, seed uint64, last []kafka.BrokerID) *Placer {
	p := &Placer{random: generator(seed), brokers: len(brokers)}
	for _, b := range brokers {
		p.rack(b.Rack).add(b)
		if !b.Fenced {
			p.unfenced++
		}
	}
	slices.SortFunc(p.racks, func(a, b *rack) int { return cmp.Compare(a.name, b.name) })
	for _, r := range p.racks {
		r.begin(last, &p.random)
	}
	if len(p.racks) > 1 {
		p.start = p.random.below(len(p.racks))
	}
	if len(last) > 0 {
		if at := slices.IndexFunc(p.racks, func(r *rack) bool { return r.has(last[0]) }); at >= 0 {
			p.start = at + 1
		}
	}
	return p
}

// rack finds or makes the rack of the name.
func (p *Placer) rack(name string) *rack {
	if n := slices.IndexFunc(p.racks, func(r *rack) bool { return r.name == name }); n >= 0 {
		return p.racks[n]
	}
	p.racks = append(p.racks, &rack{name: name})
	return p.racks[len(p.racks)-1]
}

// Next is the replica list of the next partition; the first one leads. The
// caller has checked that 0 < factor ≤ brokers and that one is not fenced.
func (p *Placer) Next(factor int) []kafka.BrokerID {
	if factor <= 0 || factor > p.brokers || p.unfenced == 0 {
		panic(fmt.Sprintf("BUG: %d replicas on %d brokers, %d of them not fenced", factor, p.brokers, p.unfenced))
	}
	if p.used == p.unfenced && p.unfenced > 1 {
		p.shuffle()
	}
	leads := p.start
	for len(p.at(leads).unfenced) == 0 {
		leads++
	}
	replicas := append(make([]kafka.BrokerID, 0, factor), p.at(leads).next())
	passed := false // the leader's rack in the first round: it has given one
	for n := p.start; len(replicas) < factor; n++ {
		r := p.at(n)
		switch {
		case r == p.at(leads) && !passed:
			passed = true
		case r.left() > 0:
			replicas = append(replicas, r.next())
		}
	}
	for _, r := range p.racks {
		r.turn()
	}
	p.start++
	p.used++
	if p.start%len(p.racks) == 0 {
		for _, r := range p.racks {
			r.skip(min(factor, len(p.racks)))
		}
	}
	return replicas
}

// at is a rack by its place in the row, which goes round.
func (p *Placer) at(n int) *rack { return p.racks[n%len(p.racks)] }

// shuffle makes a new order, so that the same lists do not come again.
func (p *Placer) shuffle() {
	shuffle(&p.random, p.racks)
	for _, r := range p.racks {
		shuffle(&p.random, r.unfenced)
		shuffle(&p.random, r.fenced)
	}
	p.used = 0
}
