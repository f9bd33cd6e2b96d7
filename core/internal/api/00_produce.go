package api

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

// Produce (key 0), versions 3–13, advertised from 0 on (KAFKA-18659).
//
// Behaviour: exactly one batch per partition; partitions succeed and fail each by
// itself; acks 0, 1 and -1 only; with acks=0 there is no answer, and an error
// closes the connection. Versions 10 on name the right leader. What must be
// flushed first, or with acks=all be on all in-sync replicas, is answered by whoever
// does it last; the connection's goroutine never waits.
//
// Not done: transactions. There is no coordinator yet, so a transactional batch
// belongs to no transaction and is refused as Kafka refuses one that was never
// added (INVALID_TXN_STATE; TRANSACTION_ABORTABLE from version 12 on).

// produceCall is one produce request on its way. It is pooled: while it waits for
// the disk and for replicas, waits[i] are held by those, and nothing else holds it.
type produceCall struct {
	a   *API
	r   *wire.Request
	req wire.ProduceRequest

	append  partition.Append
	results []wire.ProduceResult // in the order of the request's partitions; never grown, waits point into it
	waits   []produceWait        // never grown while some are out
	pending atomic.Int32         // waits to come, and one while the request is worked on
}

// produceWait is one partition's wait for the disk or for replicas.
type produceWait struct {
	call   *produceCall
	result *wire.ProduceResult // in call.results, which does not move
}

// produceResultsKept bounds the room that a pooled call keeps.
const produceResultsKept = 4096

// produce answers key 0.
//
// Hot: per request. At most 2 allocs for one partition, of which none is here.
func (a *API) produce(r *wire.Request) {
	c, ok := a.data.produceCalls.Get().(*produceCall)
	if !ok {
		c = new(produceCall)
	}
	c.a, c.r = a, r
	if err := wire.DecodeProduce(&c.req, r.Version, r.Body); err != nil {
		r.Drop(err)
		c.free()
		return
	}
	c.reserve(c.req.Len())
	c.pending.Store(1)
	if c.untransacted() {
		c.fillAll(kafka.ErrTransactionalIDAuthorizationFailed)
	} else {
		c.appendAll()
	}
	c.done()
}

// reserve makes room for n results, so that pointers to waits stay good.
func (c *produceCall) reserve(n int) {
	if cap(c.results) < n {
		c.results = make([]wire.ProduceResult, 0, n)
		c.waits = make([]produceWait, 0, n)
	}
}

// untransacted reports whether a batch is transactional although the request has
// no transactional id: the whole request is refused then.
func (c *produceCall) untransacted() bool {
	if c.req.TransactionalID != nil {
		return false
	}
	for i := range c.req.Topics {
		for _, p := range c.req.Topics[i].Partitions {
			if b, _, err := record.Next(p.Records); err == nil && b.Transactional() {
				return true
			}
		}
	}
	return false
}

// fillAll gives every partition the same error.
func (c *produceCall) fillAll(code kafka.ErrorCode) {
	for i := range c.req.Topics {
		for _, p := range c.req.Topics[i].Partitions {
			c.results = append(c.results, wire.FailedProduce(p.Index, code, ""))
		}
	}
}

// appendAll appends the partitions in the order of the request.
func (c *produceCall) appendAll() {
	byID := c.r.Version >= 13
	for i := range c.req.Topics {
		t := &c.req.Topics[i]
		for j := range t.Partitions {
			c.appendOne(byID, t, &t.Partitions[j])
		}
	}
}

// appendOne appends one partition's batch and notes the result.
func (c *produceCall) appendOne(byID bool, t *wire.ProduceTopic, q *wire.ProducePartition) {
	p, code := c.a.lookup(byID, t.Name, t.ID, q.Index)
	var batch record.Batch
	var message string
	if code == kafka.None {
		batch, code, message = c.admit(p, q.Records)
	} else if c.a.hides(c.r, OpWrite, byID, t.Name, t.ID) {
		code = kafka.ErrTopicAuthorizationFailed
	}
	if code != kafka.None {
		c.results = append(c.results, wire.FailedProduce(q.Index, code, message))
		return
	}
	if p.Config().Topic.PartitionerCheck != config.PartitionerOff && c.misplaced(p, batch) {
		return
	}
	c.append.Batch, c.append.Acks, c.append.Version = batch, c.req.Acks, c.r.Version
	out := p.Append(&c.append)
	c.append.Batch = nil
	c.results = append(c.results, wire.ProduceResult{
		Index: q.Index, Err: out.Code, BaseOffset: out.Base, LogAppendTimeMS: out.AppendTimeMS,
		LogStartOffset: out.Start, Message: out.Message, RecordErrors: recordErrors(out.Records),
	})
	if out.Code == kafka.None {
		c.a.data.produced.Add(uint64(len(batch)))
		c.a.data.producedBatches.Add(1)
	}
	if out.Await != kafka.NoOffset {
		c.await(p, &out)
	}
}

// await lets the newest result wait for the disk, and with acks=all for the in-sync
// replicas. Without an answer nobody waits.
func (c *produceCall) await(p *partition.Partition, out *partition.Appended) {
	if c.req.Acks == 0 {
		p.Flush()
		return
	}
	c.waits = append(c.waits, produceWait{call: c, result: &c.results[len(c.results)-1]})
	c.pending.Add(1)
	p.AwaitWithin(partition.Wait{
		UpTo: out.Await, Epoch: out.Epoch, All: c.req.Acks == partition.AllReplicas,
		Limit: time.Duration(max(c.req.TimeoutMS, 0)) * time.Millisecond,
	}, &c.waits[len(c.waits)-1])
}

// Synced implements logdir.Waiter. An append that is not acknowledged stays in the log
// all the same, and the answer says where, as Kafka's does.
func (w *produceWait) Synced(err error) {
	if err != nil {
		w.result.Err = awaitCode(err)
	}
	w.call.done()
}

// awaitCode is what a client is told about a wait that failed.
func awaitCode(err error) kafka.ErrorCode {
	var ke *kafka.Error
	if errors.As(err, &ke) {
		return ke.Code
	}
	return kafka.ErrKafkaStorageError
}

// done counts one wait down; the last one answers.
func (c *produceCall) done() {
	if c.pending.Add(-1) != 0 {
		return
	}
	r := c.r
	for i := range c.results {
		c.a.count(r, c.results[i].Err)
	}
	if c.req.Acks == 0 {
		if err := c.firstError(); err != nil {
			r.Drop(err)
		} else {
			r.ReplyNone()
		}
		c.free()
		return
	}
	resp := c.respond()
	c.free()
	r.Reply(resp)
}

// firstError is the first partition's error in a request without an answer.
func (c *produceCall) firstError() error {
	for i := range c.results {
		if code := c.results[i].Err; code != kafka.None {
			return fmt.Errorf("produce with acks=0, partition %d: %w", c.results[i].Index, code.Err(""))
		}
	}
	return nil
}

// respond writes the answer.
func (c *produceCall) respond() *wire.Response {
	resp := wire.NewResponse(c.r)
	w := wire.BeginProduce(resp, c.r.Version, len(c.req.Topics))
	var endpoints []wire.NodeEndpoint
	next := 0
	for i := range c.req.Topics {
		t := &c.req.Topics[i]
		w.Topic(t.Name, t.ID, len(t.Partitions))
		for range t.Partitions {
			res := &c.results[next]
			next++
			if res.Err == kafka.ErrNotLeaderOrFollower && c.r.Version >= 10 {
				if res.Leader = c.a.leaderOf(c.r.Version >= 13, t.Name, t.ID, res.Index); res.Leader != nil && res.Leader.ID == c.a.deps.Self {
					res.Leader = nil // it has given up (partition.GiveUp): others know better
				}
				if res.Leader != nil {
					endpoints = c.a.addEndpoint(endpoints, res.Leader, c.r.Conn.Listener)
				}
			}
			w.Partition(res)
		}
	}
	w.End(c.r.Throttle(), endpoints)
	return resp
}

// free gives the call back.
func (c *produceCall) free() {
	pool := &c.a.data.produceCalls
	c.req.Reset()
	c.a, c.r = nil, nil
	if cap(c.results) > produceResultsKept {
		c.results, c.waits = nil, nil
	}
	clear(c.results)
	clear(c.waits)
	c.results, c.waits = c.results[:0], c.waits[:0]
	pool.Put(c)
}
