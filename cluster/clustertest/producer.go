package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/replicatest"
)

// The producers' times.
const (
	produceEvery   = 80 * time.Millisecond
	produceTimeout = 2 * time.Second
)

// recordsMost is how many records a batch has at most.
const recordsMost = 3

// producer sends batches to one partition. An idempotent one sends a batch until it
// is acknowledged; others send each once.
type producer struct {
	client
	acks       int16
	idempotent bool
	window     int // batches under way at once

	pid        kafka.ProducerID
	sequence   int32
	queue      []*outgoing // not acknowledged, oldest first
	sent       int         // of queue
	generation int         // of attempts: a failure begins a new one
	pausing    bool        // before the next generation
	stream     *stream     // of this generation and leader
	to         *node       // where it goes
}

// outgoing is a batch on its way.
type outgoing struct {
	token int64
	bytes record.Batch
	count int // of records
}

// step makes a batch now and then, and sends what may be sent.
func (p *producer) step() {
	if p.over() {
		return
	}
	if !p.w.calm && len(p.queue) < p.window {
		p.queue = append(p.queue, p.make())
	}
	p.send()
	p.w.after(p.w.between(produceEvery/2, produceEvery), p.step)
}

// make builds the next batch. Its timestamp is its name in the whole run.
func (p *producer) make() *outgoing {
	p.w.tokens++
	o := &outgoing{token: wallStart.UnixMilli() + p.w.tokens, count: 1 + p.w.rand.IntN(recordsMost)}
	p.number(o)
	return o
}

// number builds a batch with the producer's next sequence numbers.
func (p *producer) number(out *outgoing) {
	o := record.PlainOptions(0)
	if p.idempotent {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = p.pid, 0, p.sequence
	}
	b := record.NewBuilder(o)
	value := make([]byte, 1+p.w.rand.IntN(400))
	for range out.count {
		b.Append(out.token, nil, value, nil)
	}
	p.sequence += int32(out.count)
	out.bytes = b.Bytes()
}

// beginAnew takes another producer id, as clients do when a leader does not know enough
// of the last one: after a restart a leader remembers the last batch of a producer, as
// Kafka's does, and takes one before it, sent again, for out of order. What was under
// way may be there twice then.
func (p *producer) beginAnew() {
	p.pid, p.sequence = p.w.topics.producerID(), 0
	for _, o := range p.queue {
		p.w.history.mayRepeat[o.token] = true
		p.number(o)
	}
}

// send sends what was not sent in this generation.
func (p *producer) send() {
	if p.pausing || p.sent >= len(p.queue) {
		return
	}
	leader, ok := p.leader()
	if !ok {
		return
	}
	if p.to != leader {
		if p.sent > 0 {
			return // a leader that knows nothing of the producer takes any sequence number
		}
		p.to, p.stream = leader, &stream{}
	}
	for ; p.sent < len(p.queue); p.sent++ {
		p.attempt(leader, p.queue[p.sent])
	}
}

// attempt sends one batch once.
func (p *producer) attempt(leader *node, o *outgoing) {
	generation := p.generation
	bytes := append(record.Batch(nil), o.bytes...)
	p.w.net.call(p.host, leader.host, p.stream, produceTimeout, func(reply func(any)) {
		if leader.epoch == 0 {
			reply(replicatest.Appended{Code: kafka.ErrNotLeaderOrFollower})
			return
		}
		leader.replicas.Append(p.id, bytes, p.acks, func(a replicatest.Appended) { reply(a) })
	}, func(answer any, ok bool) {
		a, is := answer.(replicatest.Appended)
		if ok && is && a.Code == kafka.None {
			p.acknowledged(o, a.Base)
			return
		}
		p.failed(o, generation, a.Code)
	})
}

// acknowledged takes a batch off the queue.
func (p *producer) acknowledged(o *outgoing, base kafka.Offset) {
	if p.remove(o) && p.acks == -1 {
		p.w.history.acknowledged(p.id, o.token, base)
	}
}

// remove takes a batch off the queue, if it is there.
func (p *producer) remove(o *outgoing) bool {
	i := slices.Index(p.queue, o)
	if i < 0 {
		return false
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	if i < p.sent {
		p.sent--
	}
	return true
}

// failed sends everything again from the oldest on, or gives the batch up.
func (p *producer) failed(o *outgoing, generation int, code kafka.ErrorCode) {
	if code == kafka.ErrOutOfOrderSequenceNumber && p.window == 1 && generation == p.generation && !p.w.history.of(p.id).loose {
		p.w.fail("idempotence: partition %v refuses batch %d of producer %d as out of order", p.id, o.token, p.pid)
	}
	switch {
	case !p.idempotent:
		p.remove(o)
	case generation == p.generation:
		if code == kafka.ErrOutOfOrderSequenceNumber && o == p.queue[0] {
			p.beginAnew()
		}
		p.generation++
		p.sent, p.pausing, p.to = 0, true, nil
		p.w.after(retryAfter, func() { p.pausing = false })
	}
}
