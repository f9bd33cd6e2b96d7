package wire

import "github.com/mortisemq/mortise/core/kafka"

// FetchHead is what a Fetch response starts with.
type FetchHead struct {
	ThrottleMS int32
	Err        kafka.ErrorCode // of the whole request; version 7 on
	SessionID  int32           // 0: no session; version 7 on
}

// AbortedTransaction is a transaction that a read_committed reader must skip.
type AbortedTransaction struct {
	ProducerID  kafka.ProducerID
	FirstOffset kafka.Offset
}

// DivergingEpoch tells a follower where its log and the leader's part.
type DivergingEpoch struct {
	Epoch     kafka.LeaderEpoch
	EndOffset kafka.Offset
}

// FetchPartition is the answer for one partition of a Fetch request.
type FetchPartition struct {
	Index                int32
	Err                  kafka.ErrorCode
	HighWatermark        kafka.Offset
	LastStableOffset     kafka.Offset
	LogStartOffset       kafka.Offset         // version 5 on
	Aborted              []AbortedTransaction // nil: null
	PreferredReadReplica kafka.BrokerID       // NoBroker: none; version 11 on
	Records              Body                 // nil: no bytes. The response owns it.
	Diverging            *DivergingEpoch      // nil: none; version 12 on
	Leader               *CurrentLeader       // nil: not told; version 12 on
}

// FetchWriter plans a Fetch response (versions 4–18) with holes for the records:
// BeginFetch, then for each topic Topic and its Partitions, then End. The counts
// that were announced must be kept. Hot: 0 allocs of its own.
//
//	topic | index error HW LSO start aborted replica len | ∎ records ∎ | tags …
type FetchWriter struct {
	resp     *Response
	version  int16
	flexible bool
	open     bool
}

// BeginFetch starts a Fetch response with so many topics.
func BeginFetch(resp *Response, version int16, head FetchHead, topics int) FetchWriter {
	w := FetchWriter{resp: resp, version: version, flexible: version >= 12}
	b := appendInt32(resp.buf, head.ThrottleMS)
	if version >= 7 {
		b = appendInt16(b, int16(head.Err))
		b = appendInt32(b, head.SessionID)
	}
	resp.buf = appendArrayLen(b, topics, w.flexible)
	return w
}

// Topic starts a topic of so many partitions; the name is written up to version
// 12, the id from 13 on.
func (w *FetchWriter) Topic(name []byte, id kafka.TopicID, partitions int) {
	w.closeTopic()
	w.open = true
	w.resp.buf = appendTopic(w.resp.buf, w.version, w.flexible, name, id)
	w.resp.buf = appendArrayLen(w.resp.buf, partitions, w.flexible)
}

// Partition writes one partition's answer and takes over its records.
func (w *FetchWriter) Partition(p *FetchPartition) {
	b := w.resp.buf
	b = appendInt32(b, p.Index)
	b = appendInt16(b, int16(p.Err))
	b = appendInt64(b, int64(p.HighWatermark))
	b = appendInt64(b, int64(p.LastStableOffset))
	if w.version >= 5 {
		b = appendInt64(b, int64(p.LogStartOffset))
	}
	b = w.aborted(b, p.Aborted)
	if w.version >= 11 {
		b = appendInt32(b, int32(p.PreferredReadReplica))
	}
	var n int64
	if p.Records != nil {
		n = p.Records.Len()
	}
	w.resp.buf = appendArrayLen(b, int(n), w.flexible) // empty, never null, as Kafka
	if p.Records != nil {
		w.resp.AddBody(p.Records)
	}
	if w.flexible {
		w.tags(p)
	}
}

func (w *FetchWriter) aborted(b []byte, list []AbortedTransaction) []byte {
	if list == nil {
		return appendNullArray(b, w.flexible)
	}
	b = appendArrayLen(b, len(list), w.flexible)
	for i := range list {
		b = appendInt64(b, int64(list[i].ProducerID))
		b = appendInt64(b, int64(list[i].FirstOffset))
		if w.flexible {
			b = append(b, 0)
		}
	}
	return b
}

// tags writes the tags of a partition, which follow its records.
func (w *FetchWriter) tags(p *FetchPartition) {
	if p.Diverging == nil {
		w.resp.buf = appendLeaderTag(w.resp.buf, 1, true, p.Leader)
		return
	}
	count := byte(1)
	if p.Leader != nil {
		count = 2
	}
	b := append(w.resp.buf, count, 0, 13)
	b = appendInt32(b, int32(p.Diverging.Epoch))
	b = append(appendInt64(b, int64(p.Diverging.EndOffset)), 0)
	if p.Leader != nil {
		b = appendLeader(b, 1, p.Leader)
	}
	w.resp.buf = b
}

// End writes what follows the topics. The endpoints, written from version 16 on,
// are those of the leaders that were told.
func (w *FetchWriter) End(endpoints []NodeEndpoint) {
	w.closeTopic()
	if w.flexible {
		w.resp.buf = appendEndpoints(w.resp.buf, w.version >= 16, endpoints)
	}
}

func (w *FetchWriter) closeTopic() {
	if w.open && w.flexible {
		w.resp.buf = append(w.resp.buf, 0)
	}
	w.open = false
}
