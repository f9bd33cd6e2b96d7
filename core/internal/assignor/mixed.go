package assignor

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// maxRounds bounds how often assignMixed goes over all topics. One round is enough
// when the subscribers of each topic have the same subscriptions; each further one
// about halves what is uneven. Kafka has the same bound.
const maxRounds = 16

// assignMixed is Uniform for members with different subscriptions: what nobody has
// goes to the subscribers with the fewest partitions, then topics are evened out.
func (p *plan) assignMixed() {
	p.claims()
	order := p.byDemand()
	l := &levels{sizes: p.sizes}
	for _, t := range order {
		free := p.unowned(t)
		if len(free) == 0 {
			continue
		}
		l.reset(p.topics[t].subscribers)
		takers := make([]int, len(free))
		for i := range free {
			takers[i] = l.poorest()
		}
		p.handOut(free, takers)
	}
	p.even(l, order)
}

// byDemand orders topics by partitions per subscriber, most first, then by fewest
// subscribers, then by id: what few can take is given out while there is room.
func (p *plan) byDemand() []int {
	order := make([]int, len(p.topics))
	for t := range order {
		order[t] = t
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &p.topics[a], &p.topics[b]
		return cmp.Or(
			cmp.Compare(y.demand(), x.demand()),
			cmp.Compare(len(x.subscribers), len(y.subscribers)),
			compareAsNumbers(x.ID, y.ID))
	})
	return order
}

// demand is how many partitions each subscriber would get.
func (t *topicPlan) demand() float64 { return float64(t.Partitions) / float64(len(t.subscribers)) }

// compareAsNumbers orders ids as Kafka does: as two signed numbers.
func compareAsNumbers(a, b kafka.TopicID) int {
	half := func(id []byte) int64 { return int64(binary.BigEndian.Uint64(id)) }
	return cmp.Or(cmp.Compare(half(a[:8]), half(b[:8])), cmp.Compare(half(a[8:]), half(b[8:])))
}

// even moves partitions within each topic that has several subscribers, until a whole
// round moves nothing or maxRounds are over.
func (p *plan) even(l *levels, order []int) {
	order = slices.DeleteFunc(slices.Clone(order), func(t int) bool { return len(p.topics[t].subscribers) < 2 })
	last := nobody // the topic that moved something last
	for range maxRounds {
		for _, t := range order {
			if t == last {
				return
			}
			if p.evenTopic(l, t) || last == nobody {
				last = t
			}
		}
	}
}

// evenTopic moves partitions of a topic from the subscribers with the most partitions
// to those with the fewest, the highest numbers first, and says whether any moved.
// What a member was given in this pass stays.
func (p *plan) evenTopic(l *levels, topic int) bool {
	if l.reset(p.topics[topic].subscribers) <= 1 {
		return false
	}
	owned := p.owned(topic)
	moved := false
	for {
		from := l.richest()
		for from != nobody && len(owned[from]) == 0 {
			l.exclude()
			from = l.richest()
		}
		if from == nobody {
			return moved
		}
		to := l.poorest()
		if l.even() {
			return moved
		}
		partition := owned[from][len(owned[from])-1]
		owned[from] = owned[from][:len(owned[from])-1]
		p.give(seat{topic, partition}, to)
		moved = true
	}
}

// owned lists by member its partitions of a topic, ascending.
func (p *plan) owned(topic int) map[int][]int32 {
	owned := make(map[int][]int32)
	for partition, owner := range p.topics[topic].owners {
		owned[owner] = append(owned[owner], int32(partition))
	}
	return owned
}
