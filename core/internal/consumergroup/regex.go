package consumergroup

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// regexPauseMS is the least time between two look-ups of a group's expressions.
const regexPauseMS = 10_000

// regexBytesMax bounds an expression: it is part of a record's key.
const regexBytesMax = math.MaxInt16

// Resolved are the topics that an expression stands for.
type Resolved struct {
	Topics  []string // sorted
	Version int64    // index of the image that was looked at
	AtMS    int64    // when
}

// regexPartsMax bounds what an expression says in all, repetitions written out: no more
// than could be said without them.
const regexPartsMax = regexBytesMax

// regexStatus says what came of a member's expression.
type regexStatus uint8

const (
	regexSame regexStatus = iota
	regexChanged
	regexChangedResolved // and what it stands for is known
)

// compile reads an expression, which a topic's whole name has to match.
func compile(regex string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(regex); err != nil {
		return nil, err
	}
	return regexp.Compile(`^(?:` + regex + `)$`)
}

// checkRegex refuses an expression that can't be read, or that would take long: to
// match a name may look at every one of its parts for every letter.
func checkRegex(regex string) *kafka.Error {
	if len(regex) > regexBytesMax { // not worth reading, nor sending back
		return kafka.ErrInvalidRegularExpression.Err(fmt.Sprintf("SubscribedTopicRegex is longer than %d bytes.", regexBytesMax))
	}
	why := ""
	if tree, err := syntax.Parse(regex, syntax.Perl); err == nil && regexParts(tree) > regexPartsMax {
		why = fmt.Sprintf("more than %d parts with its repetitions", regexPartsMax)
	} else if _, err := compile(regex); err != nil {
		why = err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			why = syntaxText(e.Code)
		}
	}
	if why == "" {
		return nil
	}
	return kafka.ErrInvalidRegularExpression.Err(fmt.Sprintf("SubscribedTopicRegex `%s` is not a valid regular expression: %s.", regex, why))
}

// regexParts is how many letters, classes and operators an expression has once its
// repetitions are written out. Cost: in proportion to its length.
func regexParts(tree *syntax.Regexp) int {
	parts := 1
	switch tree.Op {
	case syntax.OpLiteral:
		parts = len(tree.Rune)
	case syntax.OpConcat, syntax.OpAlternate, syntax.OpRepeat, syntax.OpEmptyMatch:
		parts = 0
	}
	for _, sub := range tree.Sub {
		parts += regexParts(sub)
	}
	if tree.Op == syntax.OpRepeat {
		parts *= max(tree.Min, tree.Max, 1)
	}
	return parts
}

// syntaxText is what the library of Kafka's says, which is Go's in Java.
func syntaxText(code syntax.ErrorCode) string {
	if code == syntax.ErrUnexpectedParen {
		return "regexp/syntax: internal error"
	}
	return code.String()
}

// updateRegex sees to a member's expression: what nobody wants any more goes, and
// what is not known is asked for. resolve are the expressions to look up; nil: none.
func (p *plan) updateRegex(old, next *Member) (status regexStatus, resolve []string, err *kafka.Error) {
	g := p.g
	require := false
	if old.Regex != next.Regex {
		status = regexChanged
		if old.Regex != "" && g.regexes[old.Regex] == 1 {
			p.add(dropRegex{old.Regex})
		}
		switch {
		case next.Regex == "":
			status = regexChangedResolved
		case g.regexes[next.Regex] == 0:
			if err := checkRegex(next.Regex); err != nil {
				return status, nil, err
			}
			require = true
		default:
			if _, ok := g.resolved[next.Regex]; ok {
				status = regexChangedResolved
			}
		}
	}
	if !require && len(g.regexes) == 0 || g.resolving || !p.regexesDue() {
		return status, nil, nil
	}
	wanted := maps.Clone(g.regexes)
	if old.Regex != "" {
		add(wanted, old.Regex, -1)
	}
	if next.Regex != "" {
		add(wanted, next.Regex, 1)
	}
	if require || len(wanted) != len(g.resolved) || p.regexesStale() {
		resolve = slices.Sorted(maps.Keys(wanted))
	}
	return status, resolve, nil
}

// anyResolved is one of the resolved expressions: they are all looked up together.
func (g *Group) anyResolved() (Resolved, bool) {
	for _, r := range g.resolved {
		return r, true
	}
	return Resolved{}, false
}

// regexesDue holds the pause between two look-ups.
func (p *plan) regexesDue() bool {
	r, ok := p.g.anyResolved()
	return !ok || p.env.NowMS > r.AtMS+regexPauseMS
}

// regexesStale reports whether topics have come since the last look-up, or it was
// too long ago. A version of the future is another cluster's.
func (p *plan) regexesStale() bool {
	r, ok := p.g.anyResolved()
	return !ok || r.Version < int64(p.env.NewTopics) || r.Version > int64(p.env.Image.Index) || p.env.NowMS > r.AtMS+p.env.Rules.RegexRefreshMS
}

// Resolving notes that the expressions are being looked up, or not any more.
func (g *Group) Resolving(is bool) { g.resolving = is }

// Permission says which of some topics somebody may be told that they exist. known is
// false if that can't be found out at this moment.
type Permission func(topics []string) (may []bool, known bool)

// Resolve looks up which topics expressions stand for. may says which of them count;
// nil: all. ok is false if it does not know, or once nobody wants to know (ended). Cost:
// topics times expressions; one letter of a name takes up to 0.5 ms (regexPartsMax).
func Resolve(regexes []string, img *meta.Image, may Permission, nowMS int64, ended func() bool) (found map[string]Resolved, ok bool) {
	found = make(map[string]Resolved, len(regexes))
	matched := map[string]bool{}
	for _, regex := range regexes {
		r := Resolved{Topics: []string{}, Version: int64(img.Index), AtMS: nowMS}
		if re, err := compile(regex); err == nil {
			for t := range img.Topics() {
				if ended() {
					return nil, false
				}
				if re.MatchString(t.Name) {
					r.Topics = append(r.Topics, t.Name)
					matched[t.Name] = true
				}
			}
		}
		found[regex] = r
	}
	if may == nil {
		return found, true
	}
	names := slices.Sorted(maps.Keys(matched))
	allowed, known := may(names)
	if !known {
		return nil, false
	}
	for i, name := range names {
		matched[name] = allowed[i]
	}
	for regex, r := range found {
		r.Topics = slices.DeleteFunc(r.Topics, func(name string) bool { return !matched[name] })
		found[regex] = r
	}
	return found, true
}

// Resolved takes what the expressions stand for. The group begins a new epoch if that
// has changed.
func (g *Group) Resolved(env *Env, found map[string]Resolved) []Change {
	p := g.plan(env)
	names := maps.Clone(g.names)
	bump := false
	for _, regex := range slices.Sorted(maps.Keys(found)) {
		if g.regexes[regex] == 0 {
			continue
		}
		old, r := g.resolved[regex], found[regex]
		if !slices.Equal(old.Topics, r.Topics) {
			bump = true
			countTopics(names, old.Topics, subscribers{regexes: -1})
			countTopics(names, r.Topics, subscribers{regexes: 1})
		}
		p.add(setRegex{regex, r})
	}
	if hash := hashTopics(names, env.Image); bump || hash != g.hash {
		p.epoch++
		p.add(setEpoch{p.epoch, hash})
	}
	return p.changes
}
