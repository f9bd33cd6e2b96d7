package api

import (
	"cmp"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// ListGroups (key 16), versions 0–5.
//
// Behaviour: the groups that this broker coordinates, by name; clients ask every
// broker. Version 4 filters by state (KIP-518), version 5 by type (KIP-848). While
// one of the partitions is being loaded the answer is COORDINATOR_LOAD_IN_PROGRESS
// and lists nothing.

// listGroups answers key 16.
func (a *API) listGroups(r *wire.Request) {
	var q kmsg.ListGroupsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	var led []int32
	if a.deps.Groups != nil {
		led = a.deps.Groups.Led()
	}
	l := &groupList{a: a, r: r, resp: kmsg.NewPtrListGroupsResponse(), all: a.authorizeCluster(r, OpDescribe)}
	parts := newCountdown(len(led), l.reply)
	for _, n := range led {
		to := collector(func(m kmsg.Response) {
			l.add(m.(*kmsg.ListGroupsResponse))
			parts.done()
		})
		code := a.deps.Groups.DoPartition(n, func(s *group.State, _ int64) group.Output {
			return reading(to, &kmsg.ListGroupsResponse{Groups: s.List(q.StatesFilter, q.TypesFilter)})
		})
		if code != kafka.None {
			if code != kafka.ErrNotCoordinator { // which has moved: its new broker lists it
				l.add(&kmsg.ListGroupsResponse{ErrorCode: int16(code)})
			}
			parts.done()
		}
	}
	parts.done()
}

// groupList collects the groups of all partitions.
type groupList struct {
	a   *API
	r   *wire.Request
	all bool // the client may see every group

	mu   sync.Mutex
	resp *kmsg.ListGroupsResponse // guarded by mu
}

// add adds the groups of one partition, or its error.
func (l *groupList) add(part *kmsg.ListGroupsResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resp.ErrorCode = cmp.Or(l.resp.ErrorCode, part.ErrorCode)
	l.resp.Groups = append(l.resp.Groups, part.Groups...)
}

// hide takes away the groups that the client may not see.
func (l *groupList) hide() {
	if l.all {
		return
	}
	seen := l.a.authorizeAll(l.r, OpDescribe, ResourceGroup, func(yield func(string) bool) {
		for i := range l.resp.Groups {
			if !yield(l.resp.Groups[i].Group) {
				return
			}
		}
	})
	l.resp.Groups = slices.DeleteFunc(l.resp.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return !seen(g.Group) })
}

// reply sends what has come.
func (l *groupList) reply() {
	if l.resp.ErrorCode != 0 {
		l.resp.Groups = nil
	}
	l.hide()
	slices.SortFunc(l.resp.Groups, func(x, y kmsg.ListGroupsResponseGroup) int { return cmp.Compare(x.Group, y.Group) })
	l.r.ReplyMessage(l.resp)
}
