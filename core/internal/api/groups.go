package api

import (
	"crypto/rand"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

// regexRefreshMS is how often it is looked up which topics the expressions of a group
// stand for, if no new topics ask for it before.
const regexRefreshMS = 10 * 60 * 1000

// GroupRules gives what the configuration says about one group of the consumer
// protocol, at this moment.
func GroupRules(broker func() *config.Broker, of func(group string) config.Group) func(group string) consumergroup.Rules {
	return func(id string) consumergroup.Rules {
		g, own := &broker().Groups, of(id)
		return consumergroup.Rules{MaxSize: g.ConsumerMaxSize, ClassicMaxSize: g.MaxSize, Assignors: g.Assignors,
			AssignmentIntervalMS: int64(own.AssignmentIntervalMS), RegexRefreshMS: regexRefreshMS,
			SessionMS: int64(own.SessionTimeoutMS), HeartbeatMS: own.HeartbeatIntervalMS,
			Migration: consumergroup.Migration{Upgrade: g.MigrationUpgrade, Downgrade: g.MigrationDowngrade}}
	}
}

// GroupConfig is what a coordinator needs of the broker's configuration.
func GroupConfig(b *config.Broker) coordinator.Config {
	g := &b.Groups
	return coordinator.Config{
		Groups: group.Config{MaxSize: g.MaxSize, InitialDelayMS: g.InitialDelayMS, RetentionMS: g.RetentionMS,
			CheckIntervalMS: g.CheckIntervalMS, MetadataMaxChars: g.MetadataMaxBytes},
		Codec:          record.Codec(g.TopicCodec),
		WriteTimeoutMS: g.CommitTimeoutMS,
		Partitions:     g.TopicPartitions,
	}
}

// GroupIDs make random ids of members.
func GroupIDs() group.IDs {
	return group.IDs{UUID: newUUID, Member: func() string { return kafka.NewTopicID().String() }}
}

// newUUID is a random UUID in the text form of Java's.
func newUUID() string {
	var u [16]byte
	rand.Read(u[:]) //nolint:errcheck // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// ticket answers a request once, from wherever the answer comes.
type ticket struct {
	a    *API
	r    *wire.Request
	done atomic.Bool
}

// Answer implements group.Ticket.
func (t *ticket) Answer(m kmsg.Response) {
	if !t.done.Swap(true) {
		t.r.ReplyMessage(m)
	}
}

// cancel ends a request whose connection died: its answer goes nowhere. The member
// stays in its group until its session ends, as in Kafka; it may come back on
// another connection.
func (t *ticket) cancel() {
	if !t.done.Swap(true) {
		t.r.ReplyNone()
	}
}

// park makes a ticket for a request that may wait long, and gives the memory of its
// frame back: the caller has copied what it needs.
func (a *API) park(r *wire.Request) *ticket {
	t := &ticket{a: a, r: r}
	r.ReleaseBody()
	r.OnCancel(t.cancel)
	return t
}

// caller is who sent a request, in Kafka's text form.
func caller(r *wire.Request) group.Caller {
	return group.Caller{ClientID: string(r.ClientID), Host: "/" + r.Conn.Remote.Addr().Unmap().String(), Version: r.Version}
}

// nameBytesMax bounds what becomes part of a record's key, or of a classic group's
// value: their texts have lengths of 16 bits.
const nameBytesMax = math.MaxInt16

// coordinate runs an operation on a group's shard; refuse answers when there is
// none.
func (a *API) coordinate(id string, op func(*group.State, int64) group.Output, refuse func(kafka.ErrorCode)) {
	code := kafka.ErrCoordinatorNotAvailable
	switch {
	case len(id) > nameBytesMax:
		code = kafka.ErrInvalidGroupID
	case a.deps.Groups != nil:
		code = a.deps.Groups.Do(id, op)
	}
	if code != kafka.None {
		refuse(code)
	}
}

// reading is the Output of an operation that only reads.
func reading(to group.Ticket, m kmsg.Response) group.Output {
	return group.Output{Replies: []group.Reply{{To: to, Message: m}}}
}

// collector is a Ticket for one part of an answer.
type collector func(kmsg.Response)

// Answer implements group.Ticket.
func (c collector) Answer(m kmsg.Response) { c(m) }

// countdown calls a function when so many parts are done.
type countdown struct {
	left atomic.Int64
	then func()
}

// newCountdown waits for n parts and one call of done by who starts them.
func newCountdown(n int, then func()) *countdown {
	c := &countdown{then: then}
	c.left.Store(int64(n) + 1)
	return c
}

// done ends a part.
func (c *countdown) done() {
	if c.left.Add(-1) == 0 {
		c.then()
	}
}
