package main

// kind is a sort of group. The number of a group modulo the kinds says of which it is.
type kind struct {
	name   string
	script func(seed uint64, group int) []op
}

// kinds lists the sorts of groups, in the order of their numbers.
func kinds() []kind {
	return []kind{
		{"classic", func(seed uint64, group int) []op { return classicScript(seed, group, false) }},
		{"classic-timed", func(seed uint64, group int) []op { return classicScript(seed, group, true) }},
		{"consumer", func(seed uint64, group int) []op { return consumerScript(seed, group, false) }},
		{"consumer-timed", func(seed uint64, group int) []op { return consumerScript(seed, group, true) }},
	}
}

// scriptOf is the script of a group.
func scriptOf(seed uint64, group int) []op {
	all := kinds()
	return all[group%len(all)].script(seed, group)
}
