package cluster

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/cluster/message"
	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/kafka"
)

// offsetsQuestion is the body of a call of peer.KindOffsets.
type offsetsQuestion struct {
	Topics []string `cbor:"1,keyasint"`
}

// offsetsAnswer is the answer to one: a broker.Committed.
type offsetsAnswer struct {
	Partitions []int32        `cbor:"1,keyasint"`
	Groups     []groupOffsets `cbor:"2,keyasint"`
}

// groupOffsets is a broker.GroupCommitted.
type groupOffsets struct {
	Group      string  `cbor:"1,keyasint"`
	Topic      string  `cbor:"2,keyasint"`
	Partitions []int32 `cbor:"3,keyasint"`
	Offsets    []int64 `cbor:"4,keyasint"`
}

// Committed implements broker.Neighbours.
func (h *neighbourhood) Committed(ctx context.Context, id kafka.BrokerID, topics []string) (c broker.Committed, err error) {
	question, err := message.Encode(&offsetsQuestion{topics})
	if err != nil {
		return c, fmt.Errorf("encode topics: %w", err)
	}
	b, err := h.group.Call(ctx, id, peer.KindOffsets, question)
	if err != nil {
		return c, err
	}
	var a offsetsAnswer
	if err := message.Decode(b, &a); err != nil {
		return c, fmt.Errorf("answer of %d bytes: %w", len(b), err)
	}
	c.Partitions = a.Partitions
	for _, g := range a.Groups {
		c.Groups = append(c.Groups, broker.GroupCommitted(g))
	}
	return c, nil
}

// answerOffsets answers what the groups that a broker coordinates have committed.
func answerOffsets(committed func(topics []string) broker.Committed) peer.Handler {
	return func(_ context.Context, body []byte) ([]byte, error) {
		var q offsetsQuestion
		if err := message.Decode(body, &q); err != nil {
			return nil, kafka.ErrInvalidRequest.Err(err.Error())
		}
		c := committed(q.Topics)
		a := offsetsAnswer{Partitions: c.Partitions}
		for _, g := range c.Groups {
			a.Groups = append(a.Groups, groupOffsets(g))
		}
		return message.Encode(&a)
	}
}
