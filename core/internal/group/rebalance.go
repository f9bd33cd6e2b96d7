package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// rebalance begins a rebalance, or goes on with the one that runs.
func (s *State) rebalance(g *Group, now int64, out *Output) {
	if g.phase == PreparingRebalance {
		s.completeJoinPhase(g, now, out)
		return
	}
	s.prepareRebalance(g, now, out)
}

// prepareRebalance begins to collect members. An empty group waits a little for
// more to come (group.initial.rebalance.delay.ms).
func (s *State) prepareRebalance(g *Group, now int64, out *Output) {
	if g.phase == CompletingRebalance {
		for _, m := range g.order {
			m.assignment = nil
			if s.answerSync(m, syncRefusal(kafka.ErrRebalanceInProgress), out) {
				s.heard(m, now)
			}
		}
	}
	clear(g.unsynced)
	s.timers.cancel(&g.syncTimer)
	initial := g.phase == Empty
	g.turn(PreparingRebalance, now)
	switch {
	case initial:
		g.newMember = false
		g.delay = s.config.InitialDelayMS
		g.remaining = max(g.rebalanceMS()-g.delay, 0)
		s.timers.cancel(&g.joinTimer)
		s.timers.set(&g.joinTimer, now+g.delay)
	case g.allJoined():
		s.completeJoin(g, now, out)
	default:
		s.timers.cancel(&g.joinTimer)
		s.timers.set(&g.joinTimer, now+g.rebalanceMS())
	}
}

// completeJoinPhase ends the collecting when everybody is there, but never the
// initial delay.
func (s *State) completeJoinPhase(g *Group, now int64, out *Output) {
	if g.previous != Empty {
		s.completeIfAllJoined(g, now, out)
	}
}

// completeIfAllJoined ends the collecting when everybody is there.
func (s *State) completeIfAllJoined(g *Group, now int64, out *Output) {
	if g.phase == PreparingRebalance && g.allJoined() {
		s.completeJoin(g, now, out)
	}
}

// joinWaitEnded ends the collecting because of the time, or prolongs the initial
// delay when somebody came meanwhile.
func (s *State) joinWaitEnded(g *Group, now int64, out *Output) {
	if g.phase != PreparingRebalance {
		return
	}
	if g.previous == Empty && g.newMember && g.remaining > 0 {
		g.newMember = false
		next := min(s.config.InitialDelayMS, g.remaining)
		g.remaining = max(g.remaining-g.delay, 0)
		g.delay = next
		s.timers.set(&g.joinTimer, now+next)
		return
	}
	s.completeJoin(g, now, out)
}

// joinPauseMS is the least time between two looks at a group of which nobody has
// joined. Members say how long a rebalance may take, and may say 0.
const joinPauseMS = 1000

// completeJoin makes the next generation of those who joined. Dynamic members that
// did not are out; static ones stay until their session ends.
func (s *State) completeJoin(g *Group, now int64, out *Output) {
	s.timers.cancel(&g.joinTimer)
	for i := len(g.order) - 1; i >= 0; i-- {
		if m := g.order[i]; m.join == nil && m.instance == nil {
			s.remove(g, m)
		}
	}
	if len(g.order) > 0 && !g.electJoined() {
		s.timers.set(&g.joinTimer, now+max(g.rebalanceMS(), joinPauseMS)) // until sessions have ended
		return
	}
	g.generation++
	clear(g.unsynced)
	if len(g.order) == 0 {
		g.protocol = nil
		g.readTopics()
		g.turn(Empty, now)
		out.Records = append(out.Records, groupRecord(g, nil))
		return
	}
	protocol := g.vote()
	g.protocol = &protocol
	g.readTopics()
	g.turn(CompletingRebalance, now)
	for _, m := range g.order {
		s.answerJoin(g, m, g.joined(m), out)
		s.heard(m, now)
		m.fresh = false
		g.unsynced[m.id] = struct{}{}
	}
	s.timers.cancel(&g.syncTimer)
	s.timers.set(&g.syncTimer, now+g.rebalanceMS())
}

// electJoined sees to it that the leader is somebody who joined; false: nobody did.
func (g *Group) electJoined() bool {
	if m := g.members[g.leader]; m != nil && m.join != nil {
		return true
	}
	for _, m := range g.order {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// syncWaitEnded removes members that got a generation and never asked for their
// assignment.
func (s *State) syncWaitEnded(g *Group, now int64, out *Output) {
	if g.phase != CompletingRebalance && g.phase != Stable || len(g.unsynced) == 0 {
		return
	}
	for i := len(g.order) - 1; i >= 0; i-- {
		if _, waits := g.unsynced[g.order[i].id]; waits {
			s.remove(g, g.order[i])
		}
	}
	s.prepareRebalance(g, now, out)
}

// syncRefusal is a SyncGroup answer that is only an error.
func syncRefusal(code kafka.ErrorCode) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.ErrorCode = int16(code)
	r.MemberAssignment = []byte{}
	return r
}
