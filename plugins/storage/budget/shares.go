package budget

import (
	"cmp"
	"slices"
	"strings"
)

// topic is one of those that share the budget.
type topic struct {
	name   string
	weight float64
	bytes  int64 // in the round
	here   int64 // in this question
	logs   []*tail
	excess float64 // beyond its share, of what is here
}

// least is the excess that counts: less than a byte is an error of rounding.
const least = 1

// perWeight is by what topics are compared.
func (t *topic) perWeight() float64 { return float64(t.bytes) / t.weight }

// share divides the budget: it sets the excess of the topics that have more than
// their share, and leaves the others at 0.
func share(topics []*topic, budget int64) {
	slices.SortFunc(topics, func(a, b *topic) int {
		return cmp.Or(cmp.Compare(a.perWeight(), b.perWeight()), strings.Compare(a.name, b.name))
	})
	left, weights := float64(budget), 0.0
	for _, t := range topics {
		weights += t.weight
	}
	for i, t := range topics {
		if level := left / weights; t.perWeight() > level {
			for _, over := range topics[i:] {
				over.excess = (float64(over.bytes) - max(level, 0)*over.weight) * float64(over.here) / float64(over.bytes)
			}
			return
		}
		left -= float64(t.bytes)
		weights -= t.weight
	}
}
