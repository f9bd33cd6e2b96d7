package auth

// Matcher decides by rules as Kafka's StandardAuthorizer does: a deny that matches
// wins over every allow; a rule's name is literal, a prefix, or * for all; to allow
// Read, Write, Delete or Alter allows Describe too, to allow AlterConfigs allows
// DescribeConfigs, and nothing is implied by a deny.
//
// Beyond Kafka, a rule for Group:name is one for every client in that group, and
// Type:* names every principal of the type (User:* every client, as in Kafka).
//
// A Matcher never changes and is safe for concurrent use.
type Matcher struct {
	subjects map[subject]int32 // who is named by rules, numbered
	types    map[ResourceType]*resources
	rules    int
}

// anyClient is the subject that stands for every client.
var anyClient = subject{kind: UserType, name: Wildcard}

// byTypeName is the name with which Kafka asks first when it is asked about a whole
// type of resource: what is allowed for every name is allowed for this one.
const byTypeName = "hardcode"

// knownSubjects is how many of a client's names rules may name before a decision
// allocates.
const knownSubjects = 16

// NewMatcher makes a Matcher of rules, in any order. A rule that Check refuses
// allows nothing; if it denies, each part that can't be read counts as a wildcard.
func NewMatcher(rules []Rule) *Matcher {
	m := &Matcher{subjects: map[subject]int32{}, types: map[ResourceType]*resources{}, rules: len(rules)}
	drafts := map[ResourceType]*draft{}
	for _, r := range rules {
		if r.Check() != nil {
			if r.Permission == PermissionAllow || !r.Resource.Known() {
				continue
			}
			r = r.widened()
		}
		if drafts[r.Resource] == nil {
			drafts[r.Resource] = newDraft()
		}
		drafts[r.Resource].add(r, m.number(subjectOf(r.Principal)))
	}
	for t, d := range drafts {
		m.types[t] = d.finish()
	}
	return m
}

// number gives each subject a number of its own.
func (m *Matcher) number(s subject) int32 {
	n, ok := m.subjects[s]
	if !ok {
		n = int32(len(m.subjects))
		m.subjects[s] = n
	}
	return n
}

// Len is how many rules the Matcher was made of.
func (m *Matcher) Len() int { return m.rules }

// Decide says whether the client may do op on the resource of that name. Abstain
// means that no rule names the resource, for anybody: Kafka then goes by
// allow.everyone.if.no.acl.found. If rules name it and none allows, it is Deny.
//
// Hot: per decision that is not remembered. 0 allocs (with up to knownSubjects of
// the client's names in rules), a map look-up for each of its names, one for the
// resource, and a binary search among prefixes.
func (m *Matcher) Decide(c *Client, op Operation, t ResourceType, name string) Verdict {
	r := m.types[t]
	switch {
	case !op.Known() || !t.Known():
		return Deny
	case r == nil:
		return Abstain
	}
	var room [knownSubjects]int32
	return r.decide(m.named(c, room[:0]), c.Host, op, name)
}

// DecideByResourceType says whether the client may do op on at least one resource
// of the type. It goes by Kafka's authorizeByResourceType: a literal allow counts
// unless the same literal or a prefix of it is denied, a prefixed allow unless a
// prefix of it is denied, and a deny for * ends it. Only rules for op itself or for
// all operations count here. Abstain: rules allow no resource that they name and say
// nothing about others.
//
// 0 allocs; the cost grows with the rules that name the client.
func (m *Matcher) DecideByResourceType(c *Client, op Operation, t ResourceType) Verdict {
	r := m.types[t]
	switch {
	case !op.Known() || !t.Known():
		return Deny
	case r == nil:
		return Abstain
	}
	var room [knownSubjects]int32
	who := m.named(c, room[:0])
	verdict := r.decide(who, c.Host, op, byTypeName)
	if verdict == Allow || r.decideByType(who, c.Host, op) {
		return Allow
	}
	return verdict
}

// named appends the numbers of those subjects in rules that the client is.
func (m *Matcher) named(c *Client, who []int32) []int32 {
	who = m.appendNumber(who, subject{c.PrincipalType, c.PrincipalName})
	if c.PrincipalName != Wildcard {
		who = m.appendNumber(who, subject{c.PrincipalType, Wildcard})
	}
	if c.PrincipalType != UserType {
		who = m.appendNumber(who, anyClient)
	}
	for _, g := range c.Groups {
		who = m.appendNumber(who, subject{GroupType, g})
	}
	if len(c.Groups) > 0 {
		who = m.appendNumber(who, subject{GroupType, Wildcard})
	}
	return who
}

func (m *Matcher) appendNumber(who []int32, s subject) []int32 {
	if n, ok := m.subjects[s]; ok {
		who = append(who, n)
	}
	return who
}
