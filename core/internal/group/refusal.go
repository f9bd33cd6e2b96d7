package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// Refusal turns an answer into the one that says that all of it failed.
func Refusal(m kmsg.Response, code kafka.ErrorCode) kmsg.Response {
	switch r := m.(type) {
	case *kmsg.JoinGroupResponse:
		return joinRefusal("", code)
	case *kmsg.SyncGroupResponse:
		return syncRefusal(code)
	case *kmsg.LeaveGroupResponse:
		refused := kmsg.NewPtrLeaveGroupResponse()
		refused.ErrorCode = int16(code)
		return refused
	case *kmsg.OffsetCommitResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = int16(code)
			}
		}
	case *kmsg.DeleteGroupsResponse:
		for i := range r.Groups {
			r.Groups[i].ErrorCode = int16(code)
		}
	case *kmsg.OffsetFetchResponse:
		for i := range r.Groups {
			r.Groups[i].ErrorCode, r.Groups[i].Topics = int16(code), nil
		}
	case *kmsg.DescribeGroupsResponse:
		for i := range r.Groups {
			id := r.Groups[i].Group
			r.Groups[i] = kmsg.NewDescribeGroupsResponseGroup()
			r.Groups[i].Group, r.Groups[i].ErrorCode = id, int16(code)
		}
	case *kmsg.ListGroupsResponse:
		r.ErrorCode, r.Groups = int16(code), nil
	case *kmsg.HeartbeatResponse:
		r.ErrorCode = int16(code)
	case *kmsg.ConsumerGroupHeartbeatResponse:
		refused := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		refused.ErrorCode = int16(code)
		return refused
	case *kmsg.ConsumerGroupDescribeResponse:
		for i := range r.Groups {
			id := r.Groups[i].Group
			r.Groups[i] = kmsg.NewConsumerGroupDescribeResponseGroup()
			r.Groups[i].Group, r.Groups[i].ErrorCode = id, int16(code)
		}
	case *kmsg.OffsetDeleteResponse:
		r.ErrorCode, r.Topics = int16(code), nil
	}
	return m
}

// CommitRefusal refuses every partition of an OffsetCommit.
func CommitRefusal(q *kmsg.OffsetCommitRequest, code kafka.ErrorCode) *kmsg.OffsetCommitResponse {
	r := kmsg.NewPtrOffsetCommitResponse()
	for i := range q.Topics {
		t := kmsg.OffsetCommitResponseTopic{Topic: q.Topics[i].Topic, TopicID: q.Topics[i].TopicID}
		for j := range q.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: q.Topics[i].Partitions[j].Partition, ErrorCode: int16(code)})
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}
