package meta

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Pattern types that only a filter may have, by Kafka's numbers (PatternType).
const (
	AnyPattern   auth.PatternType = 1
	MatchPattern auth.PatternType = 2
)

// AnyPermission is a filter's for both permissions (AclPermissionType).
const AnyPermission auth.Permission = 1

// ACLFilter chooses access rules as Kafka's AclBindingFilter does. A nil string
// chooses every one.
type ACLFilter struct {
	Resource   auth.ResourceType // auth.AnyResource: all
	Name       *string
	Pattern    auth.PatternType // AnyPattern: all; MatchPattern: the rules that concern Name
	Principal  *string
	Host       *string
	Operation  auth.Operation  // auth.OpAny: all
	Permission auth.Permission // AnyPermission: both
}

// Matches says whether the filter chooses r.
func (f *ACLFilter) Matches(r *auth.Rule) bool {
	switch {
	case f.Resource != auth.AnyResource && f.Resource != r.Resource,
		f.Principal != nil && *f.Principal != r.Principal,
		f.Host != nil && *f.Host != r.Host,
		f.Operation != auth.OpAny && f.Operation != r.Operation,
		f.Permission != AnyPermission && f.Permission != r.Permission:
		return false
	}
	return f.matchesName(r)
}

// matchesName compares names by pattern types.
func (f *ACLFilter) matchesName(r *auth.Rule) bool {
	switch {
	case f.Pattern != AnyPattern && f.Pattern != MatchPattern && f.Pattern != r.Pattern:
		return false
	case f.Name == nil:
		return true
	case f.Pattern != MatchPattern:
		return *f.Name == r.Name
	case r.Pattern == auth.Prefixed:
		return strings.HasPrefix(*f.Name, r.Name)
	}
	return *f.Name == r.Name || r.Name == auth.Wildcard
}

// ACLDeletion says what a filter of DeleteACLs took away.
type ACLDeletion struct {
	Rules []auth.Rule
	Err   *kafka.Error
}

// ruleKey is a rule as a key that orders rules by resource and name; two rules have
// the same key only if they are equal.
func ruleKey(r *auth.Rule) []byte {
	b := make([]byte, 0, 16+len(r.Name)+len(r.Principal)+len(r.Host))
	b = append(b, byte(r.Resource), byte(r.Pattern), byte(r.Operation), byte(r.Permission))
	for _, s := range [...]string{r.Name, r.Principal, r.Host} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// ACLs are all access rules, in one order that is the same on every node.
func (i *Image) ACLs() iter.Seq[auth.Rule] {
	return func(yield func(auth.Rule) bool) {
		it := i.acls.Root().Iterator()
		for _, r, ok := it.Next(); ok; _, r, ok = it.Next() {
			if !yield(r) {
				return
			}
		}
	}
}

// ACLCount is the number of access rules.
func (i *Image) ACLCount() int { return i.acls.Len() }

// HasACL says whether the very rule is there.
func (i *Image) HasACL(r *auth.Rule) bool {
	_, found := i.acls.Get(ruleKey(r))
	return found
}

// MatchingACLs are the rules that a filter chooses. It looks at all rules.
func (i *Image) MatchingACLs(f *ACLFilter) []auth.Rule {
	var found []auth.Rule
	for r := range i.ACLs() {
		if f.Matches(&r) {
			found = append(found, r)
		}
	}
	return found
}

// PutACL adds an access rule; one that is there already stays.
func (e *Edit) PutACL(r auth.Rule) {
	if _, was := e.acls.Insert(ruleKey(&r), r); !was {
		e.next.ACLEpoch = e.next.Index
	}
}

// RemoveACL takes an access rule away.
func (e *Edit) RemoveACL(r *auth.Rule) {
	if _, was := e.acls.Delete(ruleKey(r)); was {
		e.next.ACLEpoch = e.next.Index
	}
}

// SetACLEpoch is for restoring an image.
func (e *Edit) SetACLEpoch(epoch uint64) { e.next.ACLEpoch = epoch }
