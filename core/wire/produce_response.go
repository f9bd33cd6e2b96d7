package wire

import "github.com/mortisemq/mortise/core/kafka"

// CurrentLeader tells a client where a partition's leader is now (KIP-951).
type CurrentLeader struct {
	ID    kafka.BrokerID
	Epoch kafka.LeaderEpoch
}

// NodeEndpoint is the address of a broker that a CurrentLeader names (KIP-951).
type NodeEndpoint struct {
	ID   kafka.BrokerID
	Host string
	Port int32
	Rack string // empty: null
}

// RecordError says what is wrong with one record of a batch (KIP-467).
type RecordError struct {
	Index   int32  // in the batch
	Message string // empty: null
}

// ProduceResult is the answer for one partition of a Produce request.
type ProduceResult struct {
	Index           int32
	Err             kafka.ErrorCode
	BaseOffset      kafka.Offset // NoOffset after an error
	LogAppendTimeMS int64        // -1 unless the topic uses LogAppendTime
	LogStartOffset  kafka.Offset // NoOffset after an error; version 5 on
	RecordErrors    []RecordError
	Message         string         // empty: null; version 8 on
	Leader          *CurrentLeader // nil: not told; version 10 on
}

// FailedProduce is the result of a partition that took nothing.
func FailedProduce(index int32, code kafka.ErrorCode, message string) ProduceResult {
	return ProduceResult{
		Index: index, Err: code, Message: message,
		BaseOffset: kafka.NoOffset, LogAppendTimeMS: -1, LogStartOffset: kafka.NoOffset,
	}
}

// ProduceWriter appends the body of a Produce response (versions 3–13) in the
// order of the wire: BeginProduce, then for each topic Topic and its Partitions,
// then End. The counts that were announced must be kept. Hot: 0 allocs of its own.
type ProduceWriter struct {
	resp     *Response
	version  int16
	flexible bool
	open     bool // a topic was begun
}

// BeginProduce starts a Produce response with so many topics.
func BeginProduce(resp *Response, version int16, topics int) ProduceWriter {
	w := ProduceWriter{resp: resp, version: version, flexible: version >= 9}
	resp.buf = appendArrayLen(resp.buf, topics, w.flexible)
	return w
}

// Topic starts a topic of so many partitions; the name is written up to version
// 12, the id from 13 on.
func (w *ProduceWriter) Topic(name []byte, id kafka.TopicID, partitions int) {
	w.closeTopic()
	w.open = true
	w.resp.buf = appendTopic(w.resp.buf, w.version, w.flexible, name, id)
	w.resp.buf = appendArrayLen(w.resp.buf, partitions, w.flexible)
}

// Partition writes one partition's result.
func (w *ProduceWriter) Partition(p *ProduceResult) {
	b := w.resp.buf
	b = appendInt32(b, p.Index)
	b = appendInt16(b, int16(p.Err))
	b = appendInt64(b, int64(p.BaseOffset))
	b = appendInt64(b, p.LogAppendTimeMS)
	if w.version >= 5 {
		b = appendInt64(b, int64(p.LogStartOffset))
	}
	if w.version >= 8 {
		b = appendArrayLen(b, len(p.RecordErrors), w.flexible)
		for i := range p.RecordErrors {
			b = appendInt32(b, p.RecordErrors[i].Index)
			b = appendNullable(b, p.RecordErrors[i].Message, w.flexible)
			if w.flexible {
				b = append(b, 0)
			}
		}
		b = appendNullable(b, p.Message, w.flexible)
	}
	if w.flexible {
		b = appendLeaderTag(b, 0, w.version >= 10, p.Leader)
	}
	w.resp.buf = b
}

// appendLeaderTag appends a tag buffer that holds nothing but the leader, if it
// is there and the version has it.
func appendLeaderTag(b []byte, tag uint32, known bool, l *CurrentLeader) []byte {
	if l == nil || !known {
		return append(b, 0)
	}
	return appendLeader(append(b, 1), tag, l)
}

// appendLeader appends a CurrentLeader as a tag.
func appendLeader(b []byte, tag uint32, l *CurrentLeader) []byte {
	b = append(appendUvarint(b, tag), 9)
	b = appendInt32(b, int32(l.ID))
	b = appendInt32(b, int32(l.Epoch))
	return append(b, 0)
}

// End writes what follows the topics. The endpoints are those of the leaders
// that were told.
func (w *ProduceWriter) End(throttleMS int32, endpoints []NodeEndpoint) {
	w.closeTopic()
	w.resp.buf = appendInt32(w.resp.buf, throttleMS)
	if w.flexible {
		w.resp.buf = appendEndpoints(w.resp.buf, w.version >= 10, endpoints)
	}
}

func (w *ProduceWriter) closeTopic() {
	if w.open && w.flexible {
		w.resp.buf = append(w.resp.buf, 0)
	}
	w.open = false
}

// appendTopic appends what names a topic in a Produce or Fetch response.
func appendTopic(b []byte, version int16, flexible bool, name []byte, id kafka.TopicID) []byte {
	if version >= 13 {
		return append(b, id[:]...)
	}
	return appendString(b, name, flexible)
}

// appendEndpoints appends the tag buffer of a response body: the endpoints, tag
// 0, when there are some and the version has them.
func appendEndpoints(b []byte, known bool, endpoints []NodeEndpoint) []byte {
	if len(endpoints) == 0 || !known {
		return append(b, 0)
	}
	size := uvarintLen(uint32(len(endpoints)) + 1)
	for i := range endpoints {
		size += endpointLen(&endpoints[i])
	}
	b = appendUvarint(append(b, 1, 0), uint32(size))
	b = appendArrayLen(b, len(endpoints), true)
	for i := range endpoints {
		e := &endpoints[i]
		b = appendInt32(b, int32(e.ID))
		b = appendString(b, e.Host, true)
		b = appendInt32(b, e.Port)
		b = append(appendNullable(b, e.Rack, true), 0)
	}
	return b
}

// endpointLen is the size of an endpoint on the wire.
func endpointLen(e *NodeEndpoint) int {
	n := 4 + uvarintLen(uint32(len(e.Host))+1) + len(e.Host) + 4 + 1
	if e.Rack == "" {
		return n + 1
	}
	return n + uvarintLen(uint32(len(e.Rack))+1) + len(e.Rack)
}
