package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is one member of a consumer group on a connection of its own. It has no
// buffer: there are many, and their answers are small.
type member struct {
	group, client string
	conn          net.Conn
	id            string
	epoch         int32 // the generation of a classic group
	beat          []byte
}

// memberTopic is what all groups read.
const (
	memberTopic      = "groups"
	memberPartitions = 3
)

// answerMax bounds an answer to a member in bytes.
const answerMax = 1 << 20

// ask sends a request and reads its answer.
func (m *member) ask(req kmsg.Request) (kmsg.Response, error) {
	if err := m.conn.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := m.conn.Write(frame(req)); err != nil {
		return nil, err
	}
	body, err := m.read(nil)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	skip := 4
	if req.IsFlexible() {
		skip++
	}
	return resp, resp.ReadFrom(body[skip:])
}

// read reads one answer into buf if it is large enough.
func (m *member) read(buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(m.conn, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < 5 || n > answerMax {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(m.conn, buf)
	return buf, err
}

// joinClassic joins and syncs; the broker waits for the other members of the group.
func (m *member) joinClassic() error {
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version = 3 // the last that needs no second try for an id
	join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = m.group, "consumer", 120_000, 60_000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", []byte{0, 0, 0, 0, 0, 0, 255, 255, 255, 255}
	join.Protocols = append(join.Protocols, protocol)
	answer, err := m.ask(join)
	if err != nil {
		return err
	}
	joined := answer.(*kmsg.JoinGroupResponse)
	if joined.ErrorCode != 0 {
		return fmt.Errorf("join: error %d", joined.ErrorCode)
	}
	m.id, m.epoch = joined.MemberID, joined.Generation
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.Generation, sync.MemberID = 3, m.group, m.epoch, m.id
	for _, other := range joined.Members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = other.MemberID, []byte{0, 0, 0, 0, 0, 0, 255, 255, 255, 255}
		sync.GroupAssignment = append(sync.GroupAssignment, a)
	}
	answer, err = m.ask(sync)
	if err != nil {
		return err
	}
	if code := answer.(*kmsg.SyncGroupResponse).ErrorCode; code != 0 {
		return fmt.Errorf("sync: error %d", code)
	}
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Version, beat.Group, beat.Generation, beat.MemberID = 4, m.group, m.epoch, m.id
	m.beat = frame(beat)
	return nil
}

// joinConsumer joins by the consumer protocol (KIP-848) and confirms what it is
// given, until it has its share of the partitions.
func (m *member) joinConsumer() error {
	share := memberPartitions / groupMembers
	join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	join.Version, join.Group, join.MemberID = 1, m.group, m.client
	join.RebalanceTimeoutMillis, join.SubscribedTopicNames = 60_000, []string{memberTopic}
	join.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(500 * time.Millisecond) {
		told := owned(join.Topics)
		answer, err := m.ask(join)
		if err != nil {
			return err
		}
		r := answer.(*kmsg.ConsumerGroupHeartbeatResponse)
		if r.ErrorCode != 0 {
			return fmt.Errorf("heartbeat: error %d", r.ErrorCode)
		}
		join.MemberEpoch = r.MemberEpoch
		if r.Assignment != nil {
			join.Topics = confirm(r.Assignment)
		}
		m.epoch = r.MemberEpoch
		if told == share && owned(join.Topics) == share && m.epoch >= groupMembers {
			break
		}
	}
	if n := owned(join.Topics); n != share {
		return fmt.Errorf("%d partitions after a minute, want %d", n, share)
	}
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Version, beat.Group, beat.MemberID, beat.MemberEpoch, beat.RebalanceTimeoutMillis = 1, m.group, m.client, m.epoch, -1
	m.beat = frame(beat)
	return nil
}

// confirm says that a member has what it was given.
func confirm(a *kmsg.ConsumerGroupHeartbeatResponseAssignment) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	topics := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, t := range a.Topics {
		own := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		own.TopicID, own.Partitions = t.TopicID, t.Partitions
		topics = append(topics, own)
	}
	return topics
}

func owned(topics []kmsg.ConsumerGroupHeartbeatRequestTopic) int {
	n := 0
	for _, t := range topics {
		n += len(t.Partitions)
	}
	return n
}

// heartbeat sends the prepared heartbeat and says whether the answer is good. Both
// protocols answer tags of the header, the throttle time, then the error.
func (m *member) heartbeat(buf []byte) (bool, error) {
	if _, err := m.conn.Write(m.beat); err != nil {
		return false, err
	}
	body, err := m.read(buf)
	if err != nil {
		return false, err
	}
	const errorAt = 4 + 1 + 4
	return len(body) >= errorAt+2 && binary.BigEndian.Uint16(body[errorAt:]) == 0, nil
}
