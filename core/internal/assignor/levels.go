package assignor

import (
	"cmp"
	"slices"
)

// levels walks the members of a topic from both ends of their sizes: poorest names who
// gets the next partition, richest who gives one. Each end is a run of members that
// had the same size when their round began; when everyone in the run has had a turn,
// its level moves by one and the run takes in the members that stand there. So a
// partition costs a constant, not a search.
//
// The caller changes sizes as it goes.
type levels struct {
	sizes  []int // by member number, the caller's
	sorted []int // the members, smallest first when reset

	lowEnd, lowNext, lowLevel               int // the run sorted[:lowEnd]
	highStart, highEnd, highNext, highLevel int // the run sorted[highStart:highEnd]
}

// reset starts over with other members and returns by how much their sizes differ.
func (l *levels) reset(members []int) int {
	l.sorted = append(l.sorted[:0], members...)
	slices.SortFunc(l.sorted, func(a, b int) int { return cmp.Or(cmp.Compare(l.sizes[a], l.sizes[b]), cmp.Compare(a, b)) })
	n := len(l.sorted)
	least, most := l.sizes[l.sorted[0]], l.sizes[l.sorted[n-1]]
	l.lowEnd, l.lowNext, l.lowLevel = 0, 0, least-1
	l.highStart, l.highEnd, l.highNext, l.highLevel = n, n, n-1, most+1
	return most - least
}

// poorest is the member that is to get the next partition.
func (l *levels) poorest() int {
	if l.lowNext >= l.lowEnd {
		l.lowLevel++
		for l.lowEnd < len(l.sorted) && l.sizes[l.sorted[l.lowEnd]] == l.lowLevel {
			l.lowEnd++
		}
		l.lowNext = 0
	}
	l.lowNext++
	return l.sorted[l.lowNext-1]
}

// richest is the member that is to give the next partition, or nobody.
func (l *levels) richest() int {
	if l.highNext < l.highStart {
		if l.highEnd <= l.highStart && l.highStart > 0 {
			// All of the run were excluded: it starts anew at the next size that there is.
			l.highLevel = l.sizes[l.sorted[l.highStart-1]]
		} else {
			l.highLevel--
		}
		for l.highStart > 0 && l.sizes[l.sorted[l.highStart-1]] == l.highLevel {
			l.highStart--
		}
		l.highNext = l.highEnd - 1
	}
	if l.highNext < 0 {
		return nobody
	}
	l.highNext--
	return l.sorted[l.highNext+1]
}

// exclude takes the member that richest named last out of its run: it has nothing to
// give.
func (l *levels) exclude() {
	i, last := l.highNext+1, l.highEnd-1
	l.sorted[i], l.sorted[last] = l.sorted[last], l.sorted[i]
	l.highEnd--
}

// even says whether another move would not make the two ends more equal.
func (l *levels) even() bool { return l.highLevel-l.lowLevel <= 1 }
