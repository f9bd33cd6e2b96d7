package assignor

// assignAlike is Uniform for members that all subscribe to the same topics: everyone
// gets an equal share, the first few one more, and keeps of it what it has.
func (p *plan) assignAlike() {
	claims := p.claims()
	var free []seat
	for t := range p.topics {
		free = append(free, p.unowned(t)...)
	}
	quotas := p.quotas(claims)
	for m, quota := range quotas {
		for _, s := range claims[m][min(quota, len(claims[m])):] {
			p.take(s)
			free = append(free, s)
		}
	}
	takers := make([]int, 0, len(free))
	for m, quota := range quotas {
		for range quota - p.sizes[m] {
			takers = append(takers, m)
		}
	}
	p.handOut(free, takers)
}

// quotas is by member how many partitions it is to have. The extra ones go to members
// in order, but one that would have to be given its extra leaves it to a later member
// as long as there are more members to come than extras: it may have one already.
func (p *plan) quotas(claims [][]seat) []int {
	total := 0
	for _, t := range p.topics {
		total += int(t.Partitions)
	}
	n := len(p.members)
	extras := total % n
	quotas := make([]int, n)
	for m := range quotas {
		quotas[m] = total / n
		if extras > 0 && (len(claims[m]) > quotas[m] || n-m <= extras) {
			quotas[m]++
			extras--
		}
	}
	return quotas
}
