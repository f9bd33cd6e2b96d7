package group

import (
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
)

// Offset is a committed offset.
type Offset struct {
	At          int64
	LeaderEpoch int32 // -1: not known
	Metadata    string
	CommitMS    int64
	ExpireMS    int64         // asked for by the client (OffsetCommit v2–4); -1: by the broker's rule
	TopicID     kafka.TopicID // NoTopicID: not known, as after a load
}

// noExpiry is the ExpireMS of offsets that the broker's rule is for.
const noExpiry = -1

// Commit handles OffsetCommit. Topics and partitions exist, and their names and ids
// are filled in for every version.
func (s *State) Commit(now int64, by Caller, q *kmsg.OffsetCommitRequest) (out Output) {
	g := s.groups[q.Group]
	if code := s.checkCommit(g, by.Version, q); code != kafka.None {
		out.reply(by.Ticket, CommitRefusal(q, code))
		return out
	}
	if g != nil && g.consumers == nil && (g.phase == Stable || g.phase == PreparingRebalance) {
		if m := g.members[q.MemberID]; m != nil {
			s.heard(m, now)
		}
	}
	expire := int64(noExpiry)
	if q.RetentionTimeMillis >= 0 && q.Version >= 2 && q.Version <= 4 {
		expire = now + q.RetentionTimeMillis
	}
	var puts []put
	r := kmsg.NewPtrOffsetCommitResponse()
	for i := range q.Topics {
		t := &q.Topics[i]
		answer := kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			code := kafka.None
			if p.Metadata != nil && s.tooLong(*p.Metadata) {
				code = kafka.ErrOffsetMetadataTooLarge
			} else {
				o := put{topic: t.Topic, partition: p.Partition, offset: Offset{At: p.Offset, LeaderEpoch: p.LeaderEpoch, CommitMS: now, ExpireMS: expire, TopicID: t.TopicID}}
				if p.Metadata != nil {
					o.offset.Metadata = *p.Metadata
				}
				puts = append(puts, o)
				out.Records = append(out.Records, offsetRecord(q.Group, &o))
			}
			answer.Partitions = append(answer.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
		}
		r.Topics = append(r.Topics, answer)
	}
	out.reply(by.Ticket, r)
	id := q.Group
	if len(puts) == 0 { // as in Kafka there is a group now, until the next sweep
		s.ensure(id, now)
		return out
	}
	out.applied = func(now int64, _ *Output) {
		g, _ := s.ensure(id, now) // a group of offsets only, if there was none
		for i := range puts {
			s.put(g, &puts[i])
		}
	}
	return out
}

// put is one offset of a partition.
type put struct {
	topic     string
	partition int32
	offset    Offset
}

// put stores an offset.
func (s *State) put(g *Group, p *put) {
	partitions := g.offsets[p.topic]
	if partitions == nil {
		partitions = map[int32]Offset{}
		g.offsets[p.topic] = partitions
		s.topics[p.topic]++
	}
	before := len(partitions)
	partitions[p.partition] = p.offset
	s.offsets += len(partitions) - before
}

// removeOffset forgets an offset.
func (s *State) removeOffset(g *Group, topic string, partition int32) {
	partitions := g.offsets[topic]
	if partitions == nil {
		return
	}
	before := len(partitions)
	delete(partitions, partition)
	s.offsets -= before - len(partitions)
	if len(partitions) == 0 {
		delete(g.offsets, topic)
		s.releaseTopic(topic)
	}
}

// releaseTopic counts a group less that has offsets of a topic.
func (s *State) releaseTopic(topic string) {
	if s.topics[topic]--; s.topics[topic] == 0 {
		delete(s.topics, topic)
	}
}

// tooLong holds offset.metadata.max.bytes, which Kafka counts in UTF-16 units.
func (s *State) tooLong(metadata string) bool {
	return len(metadata) > s.config.MetadataMaxChars && len(utf16.Encode([]rune(metadata))) > s.config.MetadataMaxChars
}

// checkCommit says who may commit. While members are collected everybody of the old
// generation still may: they commit what they give up.
func (s *State) checkCommit(g *Group, version int16, q *kmsg.OffsetCommitRequest) kafka.ErrorCode {
	if g != nil && g.consumers != nil {
		return s.checkConsumerCommit(g.consumers, version, q)
	}
	if g == nil {
		switch {
		case q.Generation < 0:
			return kafka.None
		case version >= 9:
			return kafka.ErrGroupIDNotFound
		}
		return kafka.ErrIllegalGeneration
	}
	if q.Generation < 0 && g.phase == Empty {
		return kafka.None
	}
	if q.Generation < 0 && q.MemberID == "" && q.InstanceID == nil {
		return kafka.ErrUnknownMemberID
	}
	if code := g.check(q.MemberID, q.InstanceID); code != kafka.None {
		return code
	}
	switch {
	case q.Generation != g.generation:
		return kafka.ErrIllegalGeneration
	case g.phase == CompletingRebalance:
		return kafka.ErrRebalanceInProgress
	}
	return kafka.None
}

// checkConsumerCommit says whether a member of a group of the consumer protocol may
// commit. With an old epoch it may, as far as it has had the partitions since then: that
// is looked at where the metadata is not refused anyway.
func (s *State) checkConsumerCommit(c *consumergroup.Group, version int16, q *kmsg.OffsetCommitRequest) kafka.ErrorCode {
	stale, err := c.CheckCommit(q.MemberID, q.Generation, version)
	if err != nil {
		return err.Code
	}
	if stale == nil {
		return kafka.None
	}
	for i := range q.Topics {
		for j := range q.Topics[i].Partitions {
			p := &q.Topics[i].Partitions[j]
			if p.Metadata != nil && s.tooLong(*p.Metadata) {
				continue
			}
			if err := stale.CheckStale(q.Generation, kafka.TopicID(q.Topics[i].TopicID), p.Partition); err != nil {
				return err.Code
			}
		}
	}
	return kafka.None
}

// CheckFetch says whether a member may read offsets (OffsetFetch from version 9 on).
// Only groups of the consumer protocol look at epochs.
func (s *State) CheckFetch(group string, memberID *string, epoch int32) kafka.ErrorCode {
	c := s.consumers(group)
	if c == nil {
		return kafka.None
	}
	if err := c.CheckFetch(text(memberID), memberID == nil, epoch); err != nil {
		return err.Code
	}
	return kafka.None
}

// Fetch finds a committed offset.
//
// Hot: per partition. 0 allocs.
func (s *State) Fetch(group, topic string, partition int32) (Offset, bool) {
	g := s.groups[group]
	if g == nil {
		return Offset{}, false
	}
	o, ok := g.offsets[topic][partition]
	return o, ok
}

// Offsets are all offsets of a group, by topic and partition; nil: there is no such
// group. The caller must not change them, nor keep them over another operation.
func (s *State) Offsets(group string) map[string]map[int32]Offset {
	g := s.groups[group]
	if g == nil {
		return nil
	}
	return g.offsets
}
