package api

import (
	"errors"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

// admit makes the checks before the log's own, in Kafka's order, and takes the
// batch out of the records.
func (c *produceCall) admit(p *partition.Partition, records []byte) (record.Batch, kafka.ErrorCode, string) {
	name := p.TopicPartition().Topic
	if !c.a.authorize(c.r, OpWrite, ResourceTopic, name) {
		return nil, kafka.ErrTopicAuthorizationFailed, ""
	}
	batch, code, message := onlyBatch(records, c.r.Version)
	switch {
	case code != kafka.None:
		return nil, code, message
	case c.req.Acks < partition.AllReplicas || c.req.Acks > 1:
		return nil, kafka.ErrInvalidRequiredAcks, ""
	case batch.Transactional():
		return nil, notInTransaction(c.r.Version), ""
	case isInternalTopic(name) && string(c.r.ClientID) != adminClientID:
		return nil, kafka.ErrInvalidTopic, ""
	}
	return batch, kafka.None, ""
}

// onlyBatch takes the one batch out of a partition's records. Kafka explains
// bytes that are no batch, and answers the code alone otherwise.
func onlyBatch(records []byte, version int16) (record.Batch, kafka.ErrorCode, string) {
	b, err := record.Only(records, version)
	if err == nil {
		return b, kafka.None, ""
	}
	var explained *record.InvalidError
	if errors.As(err, &explained) {
		return nil, explained.Code, explained.Message
	}
	var ke *kafka.Error
	if errors.As(err, &ke) {
		return nil, ke.Code, ""
	}
	return nil, kafka.ErrCorruptMessage, ""
}

// notInTransaction is the answer to a transactional batch of no transaction.
func notInTransaction(version int16) kafka.ErrorCode {
	if version >= 12 {
		return kafka.ErrTransactionAbortable
	}
	return kafka.ErrInvalidTxnState
}

// recordErrors turns the refusals of records into their form on the wire.
func recordErrors(all []record.RecordError) []wire.RecordError {
	if len(all) == 0 {
		return nil
	}
	out := make([]wire.RecordError, len(all))
	for i, e := range all {
		out[i] = wire.RecordError(e)
	}
	return out
}
