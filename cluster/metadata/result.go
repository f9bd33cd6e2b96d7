package metadata

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// resultVersion is the first byte of every encoded result.
const resultVersion = 1

// Parts of a Result with numbered fields.
type (
	result struct {
		Topics      []topicResult     `cbor:"1,keyasint,omitempty"`
		Errors      []*resultError    `cbor:"2,keyasint,omitempty"`
		First       kafka.ProducerID  `cbor:"3,keyasint,omitempty"`
		Count       int64             `cbor:"4,keyasint,omitempty"`
		ACLs        []aclDeletion     `cbor:"5,keyasint,omitempty"`
		BrokerEpoch kafka.BrokerEpoch `cbor:"6,keyasint,omitempty"`
		ISR         []isrResult       `cbor:"7,keyasint,omitempty"`
		Err         *resultError      `cbor:"8,keyasint,omitempty"`
	}
	resultError struct {
		Code    kafka.ErrorCode `cbor:"1,keyasint"`
		Message string          `cbor:"2,keyasint,omitempty"`
	}
	topicResult struct {
		Topic *snapshotTopic `cbor:"1,keyasint,omitempty"`
		Err   *resultError   `cbor:"2,keyasint,omitempty"`
	}
	aclDeletion struct {
		Rules []ACL        `cbor:"1,keyasint,omitempty"`
		Err   *resultError `cbor:"2,keyasint,omitempty"`
	}
	isrResult struct {
		Err   *resultError      `cbor:"1,keyasint,omitempty"`
		State snapshotPartition `cbor:"2,keyasint"`
	}
)

// EncodeResult is the form of a result on its way to the node that asked.
func EncodeResult(r *Result) ([]byte, error) {
	out := result{Errors: mapped(r.Errors, fromError), First: r.Block.First, Count: r.Block.Count,
		BrokerEpoch: r.BrokerEpoch, Err: fromError(r.Err),
		Topics: mapped(r.Topics, func(t meta.TopicResult) topicResult {
			return topicResult{Topic: fromTopic(t.Topic), Err: fromError(t.Err)}
		}),
		ACLs: mapped(r.ACLs, func(d meta.ACLDeletion) aclDeletion {
			return aclDeletion{Rules: mapped(d.Rules, func(r auth.Rule) ACL { return ACL(r) }), Err: fromError(d.Err)}
		}),
		ISR: mapped(r.ISR, func(i meta.ISRResult) isrResult {
			return isrResult{Err: fromError(i.Err), State: fromPartition(i.State)}
		})}
	body, err := modes().enc.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return append([]byte{resultVersion}, body...), nil
}

// DecodeResult reads what EncodeResult wrote. Errors wrap ErrCorrupt. What it
// allocates is bounded by len(b).
func DecodeResult(b []byte) (Result, error) {
	if len(b) == 0 || b[0] != resultVersion {
		return Result{}, fmt.Errorf("%w: a result of %d bytes without version %d", ErrCorrupt, len(b), resultVersion)
	}
	var in result
	if err := modes().dec.Unmarshal(b[1:], &in); err != nil {
		return Result{}, fmt.Errorf("%w: result: %w", ErrCorrupt, err)
	}
	return Result{Errors: mapped(in.Errors, toError), Block: meta.ProducerIDBlock{First: in.First, Count: in.Count},
		BrokerEpoch: in.BrokerEpoch, Err: toError(in.Err),
		Topics: mapped(in.Topics, func(t topicResult) meta.TopicResult {
			return meta.TopicResult{Topic: toTopic(t.Topic), Err: toError(t.Err)}
		}),
		ACLs: mapped(in.ACLs, func(d aclDeletion) meta.ACLDeletion {
			return meta.ACLDeletion{Rules: mapped(d.Rules, func(r ACL) auth.Rule { return auth.Rule(r) }), Err: toError(d.Err)}
		}),
		ISR: mapped(in.ISR, func(i isrResult) meta.ISRResult {
			return meta.ISRResult{Err: toError(i.Err), State: toPartition(i.State)}
		})}, nil
}

// mapped converts a list; nil stays nil.
func mapped[From, To any](list []From, convert func(From) To) []To {
	if list == nil {
		return nil
	}
	out := make([]To, len(list))
	for n, one := range list {
		out[n] = convert(one)
	}
	return out
}

func fromError(e *kafka.Error) *resultError {
	if e == nil {
		return nil
	}
	return &resultError{Code: e.Code, Message: e.Message}
}

func toError(e *resultError) *kafka.Error {
	if e == nil {
		return nil
	}
	return e.Code.Err(e.Message)
}

func fromTopic(t *meta.Topic) *snapshotTopic {
	if t == nil {
		return nil
	}
	return &snapshotTopic{t.Name, t.ID, mapped(t.Partitions, fromPartition)}
}

func toTopic(t *snapshotTopic) *meta.Topic {
	if t == nil {
		return nil
	}
	return &meta.Topic{Name: t.Name, ID: t.ID, Partitions: mapped(t.Partitions, toPartition)}
}
