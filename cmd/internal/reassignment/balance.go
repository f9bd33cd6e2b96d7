package reassignment

import "slices"

// level moves replicas from the nodes that have most to those that have least until no
// two differ by more than one, or nothing that may move helps. Each step brings two
// nodes nearer to each other, so it ends.
func (p *planner) level() {
	for p.levelOnce() {
	}
}

// levelOnce moves one replica; false: nothing helps.
func (p *planner) levelOnce() bool {
	byMost := p.sorted(p.replicas)
	for _, to := range byMost {
		for _, from := range slices.Backward(byMost) {
			if p.replicas[from]-p.replicas[to] < 2 {
				break
			}
			if c := p.movable(from, to); c != nil {
				p.count(c.to, -1)
				c.to[slices.Index(c.to, from)] = to
				p.count(c.to, 1)
				return true
			}
		}
	}
	return false
}

// movable finds a partition with a replica on from that may go to to without more
// replicas on one rack than before; one that moves already comes first.
func (p *planner) movable(from, to int32) *candidate {
	var found *candidate
	for _, c := range p.chosen {
		at := slices.Index(c.to, from)
		if at < 0 || slices.Contains(c.to, to) {
			continue
		}
		others := slices.Delete(slices.Clone(c.to), at, at+1)
		if p.sharing(to, others) > p.sharing(from, others) {
			continue
		}
		if !slices.Contains(c.was.Replicas, from) {
			return c // from has not copied it yet: this costs nothing
		}
		if found == nil {
			found = c
		}
	}
	return found
}

// levelLeaders changes the order of replicas until no two nodes differ by more than one
// in the partitions that prefer them, or nothing that may change helps.
func (p *planner) levelLeaders() {
	for p.levelLeadersOnce() {
	}
}

func (p *planner) levelLeadersOnce() bool {
	byMost := p.sorted(p.leaders)
	for _, to := range byMost {
		for _, from := range slices.Backward(byMost) {
			if p.leaders[from]-p.leaders[to] < 2 {
				break
			}
			for _, c := range p.chosen {
				if at := slices.Index(c.to, to); at > 0 && c.to[0] == from {
					p.count(c.to, -1)
					c.to[0], c.to[at] = c.to[at], c.to[0]
					p.count(c.to, 1)
					return true
				}
			}
		}
	}
	return false
}

// sorted are the nodes from the one that has least.
func (p *planner) sorted(has map[int32]int) []int32 {
	nodes := slices.Clone(p.nodes)
	slices.SortStableFunc(nodes, func(a, b int32) int { return has[a] - has[b] })
	return nodes
}
