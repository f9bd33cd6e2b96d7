package assignor

import "slices"

// handOut gives the i-th taker one of the free partitions: in order, but those with a
// replica in the taker's rack first. There are as many takers as partitions.
func (p *plan) handOut(free []seat, takers []int) {
	if p.knowsRacks(free) {
		free, takers = p.handOutNear(free, takers)
	}
	for i, s := range free {
		p.give(s, takers[i])
	}
}

// knowsRacks says whether racks can make a difference for these partitions.
func (p *plan) knowsRacks(free []seat) bool {
	return slices.ContainsFunc(p.members, func(m Member) bool { return m.RackID != "" }) &&
		slices.ContainsFunc(free, func(s seat) bool { return p.topics[s.topic].Racks != nil })
}

// handOutNear gives what can be given within a rack, and returns the rest. Each
// partition is looked at once for each of its racks.
func (p *plan) handOutNear(free []seat, takers []int) ([]seat, []int) {
	near := make(map[string][]int) // by rack: indices of free, ascending
	for i, s := range free {
		if racks := p.topics[s.topic].Racks; racks != nil {
			for _, rack := range racks(s.partition) {
				near[rack] = append(near[rack], i)
			}
		}
	}
	given := make([]bool, len(free))
	var waiting []int
	for _, m := range takers {
		rack := p.members[m].RackID
		for len(near[rack]) > 0 && given[near[rack][0]] {
			near[rack] = near[rack][1:]
		}
		if rack == "" || len(near[rack]) == 0 {
			waiting = append(waiting, m)
			continue
		}
		i := near[rack][0]
		given[i] = true
		p.give(free[i], m)
	}
	var rest []seat
	for i, s := range free {
		if !given[i] {
			rest = append(rest, s)
		}
	}
	return rest, waiting
}
