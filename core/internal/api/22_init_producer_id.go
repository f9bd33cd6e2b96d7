package api

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// InitProducerId (key 22), versions 0–5.
//
// Behaviour: an idempotent producer gets a fresh id with epoch 0, whatever id it
// says it had. Ids come from blocks that the cluster hands out; the next block is
// asked for before the present one is used up, so that a request seldom waits.
//
// Not done: transactional ids. There is no transaction coordinator yet, so this
// broker is not the coordinator of any of them: NOT_COORDINATOR, which is what a
// Kafka broker answers when it does not host the coordinator. Clients that ask for
// one look the coordinator up first, and that key is not advertised.

// initProducerID answers key 22.
func (a *API) initProducerID(r *wire.Request) {
	var q kmsg.InitProducerIDRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	if code := a.refuseProducerID(r, &q); code != kafka.None {
		r.ReplyMessage(producerIDAnswer(kafka.NoProducerID, code))
		return
	}
	a.data.producerIDs.take(func(id kafka.ProducerID, code kafka.ErrorCode) {
		r.ReplyMessage(producerIDAnswer(id, code))
	})
}

// refuseProducerID finds what is wrong with a request, in Kafka's order.
func (a *API) refuseProducerID(r *wire.Request, q *kmsg.InitProducerIDRequest) kafka.ErrorCode {
	switch {
	case q.TransactionalID != nil && !a.authorize(r, OpWrite, ResourceTransactionalID, *q.TransactionalID):
		return kafka.ErrTransactionalIDAuthorizationFailed
	case q.TransactionalID == nil && !a.authorizeCluster(r, OpIdempotentWrite) && !a.authorizeAny(r, OpWrite, ResourceTopic):
		return kafka.ErrClusterAuthorizationFailed
	case (q.ProducerID < 0) != (q.ProducerEpoch < 0):
		return kafka.ErrInvalidRequest
	case q.TransactionalID == nil:
		return kafka.None
	case *q.TransactionalID == "":
		return kafka.ErrInvalidRequest
	}
	return kafka.ErrNotCoordinator
}

// producerIDAnswer is the answer with a fresh id, or with an error.
func producerIDAnswer(id kafka.ProducerID, code kafka.ErrorCode) *kmsg.InitProducerIDResponse {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ErrorCode = int16(code)
	resp.ProducerID = int64(id)
	if code != kafka.None {
		resp.ProducerEpoch = -1
	}
	return resp
}

// maxWaitingForIDs bounds the requests that wait for a block.
const maxWaitingForIDs = 1024

// prefetchShare is the part of a block that is left when the next is asked for:
// one tenth.
const prefetchShare = 10

// producerIDs hands producer ids out of blocks.
type producerIDs struct {
	control meta.Control
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	block    meta.ProducerIDBlock // what is left of the present block
	size     int64                // of the present block
	next     meta.ProducerIDBlock // prefetched; Count 0: none
	fetching bool
	waiting  []func(kafka.ProducerID, kafka.ErrorCode)
}

// newProducerIDs makes a hand-out without a block.
func newProducerIDs(c meta.Control) *producerIDs {
	p := &producerIDs{control: c}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// take calls done with an id, at once or when a block has come.
func (p *producerIDs) take(done func(kafka.ProducerID, kafka.ErrorCode)) {
	p.mu.Lock()
	id, ok := p.pop()
	full := !ok && len(p.waiting) >= maxWaitingForIDs || p.ctx.Err() != nil
	if !ok && !full {
		p.waiting = append(p.waiting, done)
	}
	p.prefetch()
	p.mu.Unlock()
	switch {
	case ok:
		done(id, kafka.None)
	case full:
		done(kafka.NoProducerID, kafka.ErrCoordinatorLoadInProgress)
	}
}

// pop takes an id out of the blocks at hand. Caller holds mu.
func (p *producerIDs) pop() (kafka.ProducerID, bool) {
	if p.block.Count == 0 {
		p.block, p.next = p.next, meta.ProducerIDBlock{}
		p.size = p.block.Count
	}
	if p.block.Count == 0 {
		return kafka.NoProducerID, false
	}
	id := p.block.First
	p.block.First++
	p.block.Count--
	return id, true
}

// prefetch asks for a block when little is left. Caller holds mu.
func (p *producerIDs) prefetch() {
	if p.fetching || p.next.Count > 0 || p.block.Count > p.size/prefetchShare || p.ctx.Err() != nil {
		return
	}
	p.fetching = true
	p.running.Add(1)
	go p.fetchBlock()
}

// fetchBlock gets a block and serves who waits for it.
func (p *producerIDs) fetchBlock() {
	defer p.running.Done()
	block, err := p.control.AllocateProducerIDs(p.ctx)
	p.mu.Lock()
	p.fetching = false
	if err == nil {
		p.next = block
	}
	var served []func(kafka.ProducerID, kafka.ErrorCode)
	var ids []kafka.ProducerID
	for len(p.waiting) > 0 && (err != nil || p.next.Count > 0 || p.block.Count > 0) {
		id, ok := p.pop()
		if !ok && err == nil {
			break
		}
		served, ids = append(served, p.waiting[0]), append(ids, id)
		p.waiting = p.waiting[1:]
	}
	if len(p.waiting) > 0 {
		p.prefetch()
	}
	p.mu.Unlock()
	for i, done := range served {
		code := kafka.None
		if ids[i] == kafka.NoProducerID {
			code = kafka.ErrCoordinatorLoadInProgress
		}
		done(ids[i], code)
	}
}

// close stops a request to the cluster; who waits is answered with an error.
func (p *producerIDs) close() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.running.Wait()
}
