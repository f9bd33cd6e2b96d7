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
				p.change(c, func() { c.to[slices.Index(c.to, from)] = to })
				return true
			}
		}
	}
	return false
}

// movable finds a partition with a replica on from that may go to to without more
// replicas on one rack than before; one that moves already comes first: from has not
// copied it yet, so that this costs nothing.
func (p *planner) movable(from, to int32) *candidate {
	may := func(c *candidate) bool {
		at := slices.Index(c.to, from)
		if at < 0 || slices.Contains(c.to, to) {
			return false
		}
		others := slices.Delete(slices.Clone(c.to), at, at+1)
		return p.sharing(to, others) <= p.sharing(from, others)
	}
	moves := func(c *candidate) bool { return !slices.Contains(c.was.Replicas, from) && may(c) }
	if c := p.first(step{from, to, anew}, moves); c != nil {
		return c
	}
	return p.first(step{from, to, move}, may)
}

// step is a change from one node to another.
type step struct {
	from, to int32
	kind     stepKind
}

type stepKind uint8

const (
	move stepKind = iota // of a replica
	anew                 // of one that moves already
	lead                 // of the first place
)

// search is how far partitions have been looked at for one step.
type search struct {
	next  int   // those before it do not fit,
	again []int // unless they changed since
}

// first finds the first partition that fits a step. What did not fit does not fit until
// it changes, so each is looked at once, and once more for each time that it changed: a
// plan of tens of thousands of partitions does not begin anew for each of its steps.
func (p *planner) first(s step, fits func(*candidate) bool) *candidate {
	q := p.searches[s]
	if q == nil {
		q = &search{}
		p.searches[s] = q
	}
	for slices.Sort(q.again); len(q.again) > 0; q.again = q.again[1:] {
		if c := p.chosen[q.again[0]]; fits(c) {
			return c
		}
	}
	for ; q.next < len(p.chosen); q.next++ {
		if c := p.chosen[q.next]; fits(c) {
			return c
		}
	}
	return nil
}

// change changes the replicas of a partition.
func (p *planner) change(c *candidate, do func()) {
	p.count(c.to, -1)
	do()
	p.count(c.to, 1)
	for _, q := range p.searches {
		if c.at < q.next {
			q.again = append(q.again, c.at)
		}
	}
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
			c := p.first(step{from, to, lead}, func(c *candidate) bool { return c.to[0] == from && slices.Contains(c.to, to) })
			if c != nil {
				at := slices.Index(c.to, to)
				p.change(c, func() { c.to[0], c.to[at] = c.to[at], c.to[0] })
				return true
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
