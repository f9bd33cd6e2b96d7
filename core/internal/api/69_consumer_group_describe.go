package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// ConsumerGroupDescribe (key 69), versions 0–1.
//
// Behaviour: groups of the consumer protocol, in the order of the request; others are
// GROUP_ID_NOT_FOUND, and clients ask with DescribeGroups then. Version 1 says which
// protocol each member uses.

// consumerGroupDescribe answers key 69.
func (a *API) consumerGroupDescribe(r *wire.Request) {
	var q kmsg.ConsumerGroupDescribeRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(q.Groups))
	parts := newCountdown(len(q.Groups), func() {
		for i := range resp.Groups {
			g := &resp.Groups[i]
			if g.ErrorCode != 0 {
				continue
			}
			if q.IncludeAuthorizedOperations {
				g.AuthorizedOperations = a.allowedOperations(r, ResourceGroup, g.Group)
			}
			a.hideMembers(r, g)
		}
		r.ReplyMessage(resp)
	})
	for i, id := range q.Groups {
		fail := func(code kafka.ErrorCode) {
			g := kmsg.NewConsumerGroupDescribeResponseGroup()
			g.Group, g.ErrorCode = id, int16(code)
			resp.Groups[i] = g
			parts.done()
		}
		switch {
		case !hasConsumerProtocol(a.image()):
			fail(kafka.ErrUnsupportedVersion)
			continue
		case !a.authorize(r, OpDescribe, ResourceGroup, id):
			fail(kafka.ErrGroupAuthorizationFailed)
			continue
		case id == "":
			fail(kafka.ErrInvalidGroupID)
			continue
		}
		to := collector(func(m kmsg.Response) {
			resp.Groups[i] = m.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
			parts.done()
		})
		a.coordinate(id, func(s *group.State, now int64) group.Output {
			return reading(to, &kmsg.ConsumerGroupDescribeResponse{Groups: []kmsg.ConsumerGroupDescribeResponseGroup{s.DescribeConsumers(now, id)}})
		}, fail)
	}
	parts.done()
}

// hideMembers takes the members away if they read a topic that the client may not be
// told of.
func (a *API) hideMembers(r *wire.Request, g *kmsg.ConsumerGroupDescribeResponseGroup) {
	read := func(yield func(string) bool) {
		for i := range g.Members {
			for _, list := range [...]kmsg.Assignment{g.Members[i].Assignment, g.Members[i].TargetAssignment} {
				for _, t := range list.TopicPartitions {
					if !yield(t.Topic) {
						return
					}
				}
			}
		}
	}
	may := a.authorizeAll(r, OpDescribe, ResourceTopic, read)
	for topic := range read {
		if !may(topic) {
			g.Members, g.ErrorCode = nil, int16(kafka.ErrTopicAuthorizationFailed)
			g.ErrorMessage = kmsg.StringPtr("The group has described topic(s) that the client is not authorized to describe.")
			return
		}
	}
}
