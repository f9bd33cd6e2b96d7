package placement

import (
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// rack is a row of brokers of which each partition takes the next ones.
type rack struct {
	name             string
	unfenced, fenced []kafka.BrokerID
	start            int // where the next partition begins
	taken            int // by the present partition
}

// add puts a broker into the rack.
func (r *rack) add(b Broker) {
	if b.Fenced {
		r.fenced = append(r.fenced, b.ID)
	} else {
		r.unfenced = append(r.unfenced, b.ID)
	}
}

// has says whether a broker is in the rack.
func (r *rack) has(id kafka.BrokerID) bool {
	return slices.Contains(r.unfenced, id) || slices.Contains(r.fenced, id)
}

// begin orders the row and finds a place to start: after the replica that the last
// partition has here, else anywhere.
func (r *rack) begin(last []kafka.BrokerID, random *generator) {
	slices.Sort(r.unfenced)
	slices.Sort(r.fenced)
	at := -1
	if here := slices.IndexFunc(last, r.has); here >= 0 {
		at = slices.Index(r.unfenced, last[here])
	}
	if at >= 0 {
		r.start = at + 1
	} else if len(r.unfenced) > 0 {
		r.start = random.below(len(r.unfenced))
	}
}

// left is how many brokers the present partition has not taken.
func (r *rack) left() int { return len(r.unfenced) + len(r.fenced) - r.taken }

// next is the next broker for the present partition: fenced ones come last.
func (r *rack) next() kafka.BrokerID {
	row := r.unfenced
	if r.taken >= len(r.unfenced) {
		row = r.fenced
	}
	id := row[(r.start+r.taken)%len(row)]
	r.taken++
	return id
}

// turn ends a partition: the next one begins a step further, if this one took any.
func (r *rack) turn() {
	if r.taken > 0 {
		r.start++
		r.taken = 0
	}
}

// skip goes on by as many brokers as it takes that another one leads each time that
// the rack's turn to lead comes. steps is how far the row went since the last time:
// without a skip three racks of three brokers would have three leaders in all.
func (r *rack) skip(steps int) {
	for len(r.unfenced) > 0 && gcd(steps, len(r.unfenced)) > 1 {
		steps++
		r.start++
	}
}

// gcd is the greatest common divisor.
func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
