package clustertest

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/replicatest"
)

// reader reads a partition from its start, and asks for its end.
type reader struct {
	client
	at  kafka.Offset
	end kafka.Offset // the largest that it was told
}

// readerAnswer is what a leader says.
type readerAnswer struct {
	replicatest.Fetched
	start, end         kafka.Offset
	startCode, endCode kafka.ErrorCode
}

// step asks the leader once.
func (r *reader) step() {
	if r.over() {
		return
	}
	again := func() { r.w.after(r.w.between(50*time.Millisecond, 300*time.Millisecond), r.step) }
	leader, ok := r.leader()
	if !ok {
		again()
		return
	}
	epoch := r.epoch
	r.w.net.call(r.host, leader.host, nil, time.Second, func(reply func(any)) {
		if leader.epoch == 0 {
			reply(nil)
			return
		}
		var a readerAnswer
		a.Fetched = leader.replicas.Read(r.id, epoch, r.at)
		a.start, a.startCode = leader.replicas.Earliest(r.id, epoch)
		a.end, a.endCode = leader.replicas.Latest(r.id, epoch)
		reply(a)
	}, func(answer any, _ bool) {
		if a, ok := answer.(readerAnswer); ok {
			r.told(&a)
		}
		again()
	})
}

// told checks an answer against the history.
func (r *reader) told(a *readerAnswer) {
	c := r.w.history.of(r.id)
	if a.Code == kafka.ErrOffsetOutOfRange && a.startCode == kafka.None && a.start > r.at {
		if a.start > c.deleted && !c.loose {
			r.w.fail("readers: %s: nothing before offset %d, and records are deleted up to %d", c.name, a.start, c.deleted)
		}
		r.at = a.start // as clients do (auto.offset.reset=earliest)
	}
	if a.Code == kafka.None {
		for _, b := range a.Batches {
			b := record.Batch(b)
			if b.BaseOffset() > r.at && !c.loose {
				r.w.fail("readers: %s: nothing between offset %d and %d", c.name, r.at, b.BaseOffset())
			}
			r.w.history.see(c, b, r.host)
			r.at = b.NextOffset()
		}
	}
	if a.endCode == kafka.None {
		if a.end < r.end && !c.loose {
			r.w.fail("readers: the end of %s goes back from %d to %d", c.name, r.end, a.end)
		}
		r.end = max(r.end, a.end)
	}
}
