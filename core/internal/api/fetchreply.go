package api

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// refuse answers with an error for the whole request.
func (c *fetchCall) refuse(code kafka.ErrorCode) {
	c.a.count(c.r, code)
	resp := wire.NewResponse(c.r)
	w := wire.BeginFetch(resp, c.r.Version, wire.FetchHead{ThrottleMS: c.r.Throttle(), Err: code}, 0)
	w.End(nil)
	r := c.r
	c.free()
	r.Reply(resp)
}

// refuseIsolation answers an isolation level that does not exist: like Kafka with
// an unknown error, for the request and each of its partitions.
func (c *fetchCall) refuseIsolation() {
	c.fromRequest()
	for i := range c.parts {
		c.parts[i].code = kafka.ErrUnknownServerError
	}
	c.err = kafka.ErrUnknownServerError
	c.refuseParts()
	c.reply()
}

// refuseParts reads nothing: every part has its code already.
func (c *fetchCall) refuseParts() {
	for i := range c.parts {
		c.parts[i].found, c.parts[i].nearest = refusedPart(c.parts[i].code), kafka.NoBroker
	}
}

// reply answers with what the last read found.
func (c *fetchCall) reply() {
	endpoints := c.results()
	resp := wire.NewResponse(c.r)
	w := wire.BeginFetch(resp, c.r.Version, wire.FetchHead{ThrottleMS: c.r.Throttle(), Err: c.err, SessionID: c.sessionID}, c.groups())
	for i := 0; i < len(c.parts); {
		n := c.group(i)
		w.Topic(c.parts[i].name, c.parts[i].id, n)
		for j := range n {
			w.Partition(&c.out[i+j])
		}
		i += n
	}
	w.End(endpoints)
	c.a.data.fetched.Add(uint64(c.bytes))
	if c.bytes == 0 {
		c.a.data.emptyFetch.Add(1)
	}
	r := c.r
	c.free()
	r.Reply(resp)
}

// results fills out with what is to be told, and drops the parts that are not.
func (c *fetchCall) results() (endpoints []wire.NodeEndpoint) {
	if s := c.session; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	keep := c.parts[:0]
	for i := range c.parts {
		p := &c.parts[i]
		out := c.result(p)
		c.a.count(c.r, out.Err)
		if p.told != nil {
			news := c.session.tell(p.told, &out, c.incremental)
			c.session.settle(p)
			if !news && c.incremental {
				continue
			}
		}
		if out.Leader != nil {
			endpoints = c.a.addEndpoint(endpoints, out.Leader, c.r.Conn.Listener)
		}
		if p.throttled && p.found.Range != nil {
			c.a.deps.LeaderThrottle.Spend(int(p.found.Range.Len()))
		}
		p.found.Range = nil // the response owns it now
		keep = append(keep, *p)
		c.out = append(c.out, out)
	}
	clear(c.parts[len(keep):])
	c.parts = keep
	return endpoints
}

// result is the answer for one partition.
func (c *fetchCall) result(p *fetchPart) wire.FetchPartition {
	f := &p.found
	out := wire.FetchPartition{
		Index: p.want.Index, Err: f.Code,
		HighWatermark: f.HighWatermark, LastStableOffset: f.LastStable, LogStartOffset: f.LogStart,
		PreferredReadReplica: p.nearest,
	}
	if f.Code == kafka.ErrKafkaStorageError && c.r.Version <= 5 {
		out.Err = kafka.ErrNotLeaderOrFollower // clients of then know no better reason to look again
	}
	if f.Range != nil {
		out.Records = f.Range
	}
	if c.req.IsolationLevel == 1 && f.Code == kafka.None || p.code != kafka.None && p.code != kafka.ErrNotLeaderOrFollower { // as Kafka
		out.Aborted = make([]wire.AbortedTransaction, 0, len(f.Aborted))
		for _, t := range f.Aborted {
			out.Aborted = append(out.Aborted, wire.AbortedTransaction{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset})
		}
	}
	if f.DivergingEpoch != kafka.NoLeaderEpoch {
		out.Diverging = &wire.DivergingEpoch{Epoch: f.DivergingEpoch, EndOffset: f.DivergingEnd}
	}
	if c.r.Version >= 16 && (f.Code == kafka.ErrNotLeaderOrFollower || f.Code == kafka.ErrFencedLeaderEpoch) {
		out.Leader = c.a.leaderOf(true, p.name, p.id, p.want.Index)
	}
	return out
}

// group counts the parts from i on that are of one topic.
func (c *fetchCall) group(i int) int {
	n := 1
	for i+n < len(c.parts) && c.parts[i+n].sameTopic(&c.parts[i]) {
		n++
	}
	return n
}

// groups counts the topics of the answer; one that comes twice counts twice.
func (c *fetchCall) groups() (n int) {
	for i := 0; i < len(c.parts); i += c.group(i) {
		n++
	}
	return n
}

// free gives the call back.
func (c *fetchCall) free() {
	pool := &c.a.data.fetchCalls
	c.req.Reset()
	parts, out, req := c.parts, c.out, c.req
	if cap(parts) > fetchPartsKept || cap(out) > fetchPartsKept {
		parts, out = nil, nil
	}
	clear(parts)
	clear(out)
	*c = fetchCall{req: req, parts: parts[:0], out: out[:0]}
	pool.Put(c)
}
