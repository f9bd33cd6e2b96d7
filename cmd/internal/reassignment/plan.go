package reassignment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Errors of goals that can't be met.
var (
	ErrNoNodes     = errors.New("no node is left that may hold replicas")
	ErrTooFewNodes = errors.New("more replicas than nodes")
)

// Node is a broker that may hold replicas.
type Node struct {
	ID   int32
	Rack string // empty: none
}

// Partition is where a partition is.
type Partition struct {
	Topic    string
	ID       int32
	Replicas []int32 // in order of preference
}

// Goal is what a plan is for.
type Goal struct {
	// Nodes may hold replicas; the others hold none afterwards.
	Nodes []Node
	// Factor is how many replicas each partition shall have; 0: as many as it has.
	Factor int
	// Chosen says which partitions may change; nil: all.
	Chosen func(*Partition) bool
}

// Move is a partition that changes.
type Move struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	From      []int32 `json:"from"` // what it was
	To        []int32 `json:"to"`
}

// Plan gives the moves that meet a goal, in the order of the partitions. The result is
// the same for the same input.
func Plan(all []Partition, g Goal) ([]Move, error) {
	p, err := newPlanner(all, g)
	if err != nil {
		return nil, err
	}
	for _, c := range p.chosen {
		if err := p.place(c); err != nil {
			return nil, err
		}
	}
	p.level()
	p.levelLeaders()
	var moves []Move
	for _, c := range p.chosen {
		if !slices.Equal(c.to, c.was.Replicas) {
			moves = append(moves, Move{c.was.Topic, c.was.ID, c.was.Replicas, c.to})
		}
	}
	return moves, nil
}

// candidate is a partition that may change.
type candidate struct {
	at  int // in planner.chosen
	was *Partition
	to  []int32
}

// planner holds what Plan counts.
type planner struct {
	goal     Goal
	nodes    []int32 // that may hold replicas, sorted
	racks    map[int32]string
	replicas map[int32]int // on each of the nodes
	leaders  map[int32]int // partitions that prefer each of the nodes
	chosen   []*candidate
	searches map[step]*search
}

func newPlanner(all []Partition, g Goal) (*planner, error) {
	p := &planner{goal: g, racks: map[int32]string{}, replicas: map[int32]int{}, leaders: map[int32]int{}, searches: map[step]*search{}}
	for _, n := range g.Nodes {
		p.nodes = append(p.nodes, n.ID)
		p.racks[n.ID] = n.Rack
	}
	slices.Sort(p.nodes)
	switch {
	case len(p.nodes) == 0:
		return nil, ErrNoNodes
	case g.Factor > len(p.nodes):
		return nil, fmt.Errorf("%w: %d and %d", ErrTooFewNodes, g.Factor, len(p.nodes))
	}
	for i := range all {
		was := &all[i]
		if len(was.Replicas) == 0 {
			continue
		}
		p.count(was.Replicas, 1)
		if g.Chosen == nil || g.Chosen(was) {
			p.chosen = append(p.chosen, &candidate{len(p.chosen), was, slices.Clone(was.Replicas)})
		}
	}
	return p, nil
}

// count adds replicas to what nodes have, or takes them away.
func (p *planner) count(replicas []int32, by int) {
	for _, id := range replicas {
		p.replicas[id] += by
	}
	if len(replicas) > 0 {
		p.leaders[replicas[0]] += by
	}
}

// place gives one partition replicas on allowed nodes only, as many as it shall have.
func (p *planner) place(c *candidate) error {
	factor := cmp.Or(p.goal.Factor, len(c.was.Replicas))
	if factor > len(p.nodes) {
		return fmt.Errorf("%s-%d: %w: %d and %d", c.was.Topic, c.was.ID, ErrTooFewNodes, factor, len(p.nodes))
	}
	p.count(c.to, -1)
	for i, id := range c.to {
		if !p.allowed(id) {
			c.to[i] = p.least(c.to)
		}
	}
	for len(c.to) > factor {
		c.to = slices.Delete(c.to, p.most(c.to), p.most(c.to)+1)
	}
	for len(c.to) < factor {
		c.to = append(c.to, p.least(c.to))
	}
	p.count(c.to, 1)
	return nil
}

// allowed reports whether a node may hold replicas.
func (p *planner) allowed(id int32) bool {
	_, ok := slices.BinarySearch(p.nodes, id)
	return ok
}

// least is the node to add to replicas: on a rack that none of them is on if there is
// one, and then with the least replicas. There is one that is not among them.
func (p *planner) least(replicas []int32) int32 {
	best := int32(-1)
	for _, id := range p.nodes {
		if !slices.Contains(replicas, id) && (best < 0 || p.prefers(id, best, replicas)) {
			best = id
		}
	}
	return best
}

// prefers compares two nodes that could be added to replicas.
func (p *planner) prefers(a, b int32, replicas []int32) bool {
	return cmp.Or(cmp.Compare(p.sharing(a, replicas), p.sharing(b, replicas)), cmp.Compare(p.replicas[a], p.replicas[b]), cmp.Compare(a, b)) < 0
}

// sharing counts the replicas on the rack of a node, but not those on the node itself.
func (p *planner) sharing(id int32, replicas []int32) (n int) {
	for _, r := range replicas {
		if rack := p.racks[id]; r != id && p.allowed(r) && rack != "" && rack == p.racks[r] {
			n++
		}
	}
	return n
}

// most is the place of the replica to take away: one that shares its rack, then of the
// node with the most replicas, then the last. The first replica stays.
func (p *planner) most(replicas []int32) int {
	worst := 1
	for i := 2; i < len(replicas); i++ {
		a, b := replicas[i], replicas[worst]
		if cmp.Or(cmp.Compare(p.sharing(a, replicas), p.sharing(b, replicas)), cmp.Compare(p.replicas[a], p.replicas[b])) >= 0 {
			worst = i
		}
	}
	return worst
}
