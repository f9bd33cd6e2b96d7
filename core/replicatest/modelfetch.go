package replicatest

import (
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
)

// modelBatches is how many batches a fetch brings for a partition at most.
const modelBatches = 8

// modelFetch is what a follower asks of one leader.
type modelFetch struct {
	epoch kafka.BrokerEpoch
	parts []modelPosition
}

// modelPosition is what it asks of one partition.
type modelPosition struct {
	id        meta.PartitionID
	epoch     kafka.LeaderEpoch
	from      kafka.Offset
	lastEpoch kafka.LeaderEpoch
}

// modelAnswer is what the leader has of it.
type modelAnswer struct {
	code     kafka.ErrorCode
	start    kafka.Offset
	hw       kafka.Offset
	batches  [][]byte
	diverged bool
	epoch    kafka.LeaderEpoch // with diverged: the largest epoch not beyond the follower's
	end      kafka.Offset      // and where it ends
}

// Fetches implements Replicas.
func (p *modelProcess) Fetches() []Request {
	if p.epoch == 0 {
		return nil
	}
	parts := map[kafka.BrokerID][]modelPosition{}
	var leaders []kafka.BrokerID
	for _, id := range p.held {
		r := p.replicas[id]
		if r.leader == kafka.NoBroker || r.leading || p.wait(r.leader) {
			continue
		}
		q := modelPosition{id, r.epoch, r.log.end(), r.log.lastEpoch()}
		if p.env.Bug == SkipTruncation {
			q.lastEpoch = kafka.NoLeaderEpoch
		}
		if parts[r.leader] == nil {
			leaders = append(leaders, r.leader)
		}
		parts[r.leader] = append(parts[r.leader], q)
	}
	slices.Sort(leaders)
	var out []Request
	for _, leader := range leaders {
		p.busy[leader] = true
		out = append(out, Request{To: leader, Body: modelFetch{p.epoch, parts[leader]}})
	}
	return out
}

// wait reports whether a leader is not to be asked now.
func (p *modelProcess) wait(leader kafka.BrokerID) bool {
	for int(leader) >= len(p.busy) {
		p.busy, p.backoff = append(p.busy, false), append(p.backoff, 0)
	}
	return p.busy[leader] || p.backoff[leader] > 0
}

// Serve implements Replicas.
func (p *modelProcess) Serve(from kafka.BrokerID, request any, again bool) (any, bool) {
	q := request.(modelFetch)
	answers := make([]modelAnswer, len(q.parts))
	ready := false
	for i := range q.parts {
		answers[i] = p.serve(from, q.epoch, &q.parts[i], again)
		a := &answers[i]
		ready = ready || a.code != kafka.None || a.diverged || len(a.batches) > 0
	}
	return answers, ready
}

// serve answers for one partition.
func (p *modelProcess) serve(from kafka.BrokerID, epoch kafka.BrokerEpoch, q *modelPosition, again bool) modelAnswer {
	r := p.replicas[q.id]
	if code := r.admit(q.epoch); code != kafka.None {
		return modelAnswer{code: code}
	}
	if q.lastEpoch >= 0 {
		if e, end := r.log.epochEnd(q.lastEpoch); e < q.lastEpoch || end < q.from {
			return modelAnswer{diverged: true, epoch: e, end: end}
		}
	}
	start := r.log.start
	if q.from < start || q.from > r.log.end() {
		if p.env.Bug == RestartAtEnd {
			start = r.log.end()
		}
		return modelAnswer{code: kafka.ErrOffsetOutOfRange, start: start, end: r.log.end()}
	}
	if !again && !r.heard(from, epoch, q.from) {
		return modelAnswer{code: kafka.ErrNotLeaderOrFollower}
	}
	batches := r.log.read(q.from, r.log.end())
	a := modelAnswer{start: start, hw: r.log.hw, batches: batches[:min(len(batches), modelBatches)]}
	switch p.env.Bug {
	case TrustHighWatermark:
		a.hw = r.log.end()
	case IgnoreLogStart:
		a.start = 0
	}
	return a
}

// Answered implements Replicas.
func (p *modelProcess) Answered(q Request, response any) {
	p.busy[q.To] = false
	answers, ok := response.([]modelAnswer)
	if !ok {
		p.backoff[q.To] = 1
		return
	}
	for i, a := range answers {
		asked := &q.Body.(modelFetch).parts[i]
		r := p.replicas[asked.id]
		if r == nil || r.leading || r.epoch != asked.epoch || r.log.end() != asked.from {
			continue
		}
		if !r.take(&a) {
			p.backoff[q.To] = 1
		}
	}
}

// take does what a leader's answer asks for, and reports whether to go on at once.
func (r *modelReplica) take(a *modelAnswer) bool {
	switch {
	case a.diverged:
		mine, end := r.log.epochEnd(a.epoch)
		if mine < a.epoch || end < 0 {
			r.log.cut(max(end, 0))
		} else {
			r.log.cut(min(end, a.end))
		}
		return true
	case a.code == kafka.ErrOffsetOutOfRange:
		if r.log.end() < a.start {
			r.log.restart(a.start)
		} else {
			r.log.cut(a.end)
		}
		return true
	case a.code != kafka.None, r.process.machine.full:
		r.stuck = r.stuck || a.code == kafka.None && len(a.batches) > 0
		return false
	}
	r.stuck = false
	for _, b := range a.batches {
		r.log.append(record.Batch(b))
	}
	r.log.hw = max(r.log.hw, min(a.hw, r.log.end()))
	r.log.trim(min(a.start, r.log.hw))
	return true
}
