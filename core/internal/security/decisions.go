package security

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Bounds of what is remembered of one authorizer: about 16 MB with short names.
const (
	decisionShards   = 16
	decisionsInShard = 4096
)

// subject is who asks, as far as decisions may depend on it.
type subject struct {
	principal string
	groups    string // joined
	host      string // empty unless the plugin uses it
	listener  string
}

// subjectOf is the subject of a question.
func subjectOf(c *auth.Client, i *wire.Identity) subject {
	return subject{principal: i.Principal, groups: i.GroupsText(), host: c.Host, listener: c.Listener}
}

// decisionKey is what a decision is remembered by.
type decisionKey struct {
	who      subject
	op       auth.Operation
	resource auth.ResourceType
	name     string
}

// action is the key's action. Whether a decision is one for an audit log is not
// known here: all are.
func (k *decisionKey) action() auth.Action {
	return auth.Action{Operation: k.op, Resource: k.resource, Name: k.name, LogIfAllowed: true, LogIfDenied: true}
}

// text is the key and an epoch as one text; two keys never have the same.
func (k *decisionKey) text(epoch uint64) string {
	var b strings.Builder
	b.WriteString(strconv.FormatUint(epoch, 36))
	for _, s := range [...]string{k.who.principal, k.who.groups, k.who.host, k.who.listener, k.name} {
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(' ')
		b.WriteString(s)
	}
	b.WriteByte(byte(k.op))
	b.WriteByte(byte(k.resource))
	return b.String()
}

// decision is one that is remembered.
type decision struct {
	verdict auth.Verdict
	epoch   uint64
	until   time.Time
}

// decisions are remembered verdicts. It is safe for concurrent use.
type decisions struct {
	seed   maphash.Seed
	shards [decisionShards]decisionShard
}

type decisionShard struct {
	mu      sync.Mutex
	entries map[decisionKey]decision // guarded by mu
}

func newDecisions() *decisions {
	d := &decisions{seed: maphash.MakeSeed()}
	for n := range d.shards {
		d.shards[n].entries = map[decisionKey]decision{}
	}
	return d
}

// shard is where a key belongs.
func (d *decisions) shard(k *decisionKey) *decisionShard {
	return &d.shards[maphash.String(d.seed, k.name)%decisionShards]
}

// get finds a verdict of the epoch that still counts.
// Hot: per action. 0 allocs, one lock that is seldom shared.
func (d *decisions) get(k *decisionKey, epoch uint64, now time.Time) (auth.Verdict, bool) {
	s := d.shard(k)
	s.mu.Lock()
	e, ok := s.entries[*k]
	s.mu.Unlock()
	if !ok || e.epoch != epoch || !now.Before(e.until) {
		return auth.Deny, false
	}
	return e.verdict, true
}

// put remembers a verdict.
func (d *decisions) put(k *decisionKey, v auth.Verdict, epoch uint64, until time.Time) {
	kept := *k
	kept.name = strings.Clone(k.name) // it may be part of a large frame's memory
	s := d.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.entries[kept]; !there && len(s.entries) >= decisionsInShard {
		s.makeRoom(epoch)
	}
	s.entries[kept] = decision{v, epoch, until}
}

// roomPieces is how many entries are looked at to make room for one.
const roomPieces = 8

// makeRoom forgets an entry of another epoch, or else the one of a few that ends
// first. Caller holds mu.
func (s *decisionShard) makeRoom(epoch uint64) {
	var victim decisionKey
	var first time.Time
	seen := 0
	for k, e := range s.entries {
		if e.epoch != epoch {
			delete(s.entries, k)
			return
		}
		if seen == 0 || e.until.Before(first) {
			victim, first = k, e.until
		}
		if seen++; seen == roomPieces {
			break
		}
	}
	delete(s.entries, victim)
}

// len is how many are remembered.
func (d *decisions) len() int {
	n := 0
	for i := range d.shards {
		s := &d.shards[i]
		s.mu.Lock()
		n += len(s.entries)
		s.mu.Unlock()
	}
	return n
}
