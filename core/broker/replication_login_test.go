package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/sdk/auth"
)

// topicsOnly lets everybody do everything to topics, and nothing else.
type topicsOnly struct{}

func (topicsOnly) Authorize(_ context.Context, _ *auth.Client, actions []auth.Action, out []auth.Decision) error {
	for i, a := range actions {
		out[i] = auth.Decision{Verdict: auth.Deny}
		if a.Resource == auth.Topic {
			out[i].Verdict = auth.Allow
		}
	}
	return nil
}

func (topicsOnly) AuthorizeByResourceType(_ context.Context, _ *auth.Client, _ auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	if t == auth.Topic {
		return auth.Decision{Verdict: auth.Allow}, nil
	}
	return auth.Decision{Verdict: auth.Deny}, nil
}

func (topicsOnly) Watch(ctx context.Context, _ func(auth.Event) error) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFollowersLogIn: with a login and rules, a broker replicates as a super user, and
// nobody else may fetch as a follower.
func TestFollowersLogIn(t *testing.T) {
	users := &passwords{users: map[string]string{"broker": "b", "alice": "secret"}}
	o := brokertest.Options{
		SASL: &broker.SASL{Mechanisms: []string{"PLAIN"}, Authenticator: users, SuperUsers: true},
		Security: broker.Security{SuperUsers: []string{"User:broker"},
			Authorizers: []broker.Authorizer{{Name: "rules", Authorizer: topicsOnly{}, Has: func(string) bool { return false }}}},
		Replication: broker.Replication{User: "broker", Password: "b"},
	}
	replicate(t, o, func(s *trio) {
		s.topic(map[string]string{"min.insync.replicas": "3"}, on(1, 2, 3))
		c := s.producer(0, kgo.SASL(plain.Auth{User: "alice", Pass: "secret"}.AsMechanism()), kgo.DisableIdempotentWrite())
		begin := time.Now()
		s.write(c, 0, 20)
		if d := time.Since(begin); d > time.Second {
			s.Errorf("20 acknowledgements took %v", d)
		}
		s.alike(0)
		for id, want := range map[int32]int16{2: 29, -1: 0} { // TOPIC_AUTHORIZATION_FAILED, none
			q := kmsg.NewPtrFetchRequest()
			q.ReplicaID, q.ReplicaState.ID, q.SessionEpoch = id, id, -1
			topic, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
			known, _ := s.brokers[0].Control.Image().Topic("t")
			topic.TopicID, p.PartitionMaxBytes = known.ID, 1000
			topic.Partitions = append(topic.Partitions, p)
			q.Topics, q.MaxBytes = append(q.Topics, topic), 1000
			resp, err := c.Broker(1).Request(s.Context(), q)
			if err != nil {
				s.Fatal(err)
			}
			if got := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode; got != want {
				s.Errorf("alice as replica %d: code %d, want %d", id, got, want)
			}
		}
	})
}
