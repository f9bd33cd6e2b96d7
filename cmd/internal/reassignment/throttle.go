package reassignment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What holds replication back (KIP-73): a topic names replicas, as leaders that send and
// as followers that fetch, a broker has a rate for each of both.
const (
	leaderReplicas   = "leader.replication.throttled.replicas"
	followerReplicas = "follower.replication.throttled.replicas"
	leaderRate       = "leader.replication.throttled.rate"
	followerRate     = "follower.replication.throttled.rate"
)

// throttledMax bounds the topics and brokers of one request.
const throttledMax = 1000

// throttling is which replicas are held back, and whose rate does so.
type throttling struct {
	leaders, followers replicaLists
	brokers            map[int32]bool
}

// replica is a replica of a partition.
type replica struct {
	topic             string
	partition, broker int32
}

// replicaLists are lists of replicas, by topic, in the order in which they came.
type replicaLists struct {
	texts map[string][]string // as partition:broker
	has   map[replica]bool
}

func newReplicaLists() replicaLists {
	return replicaLists{map[string][]string{}, map[replica]bool{}}
}

// add adds a replica, once.
func (l *replicaLists) add(r replica) {
	if !l.has[r] {
		l.has[r] = true
		l.texts[r.topic] = append(l.texts[r.topic], fmt.Sprintf("%d:%d", r.partition, r.broker))
	}
}

// of is the list of a topic, as a config.
func (l *replicaLists) of(topic string) string { return strings.Join(l.texts[topic], ",") }

// throttle finds what the moves, and those that are pending on the same topics, copy from
// where to where: what a partition has sends, what it gets fetches.
func throttle(moves []Move, pending []Pending) *throttling {
	t := &throttling{newReplicaLists(), newReplicaLists(), map[int32]bool{}}
	topics := topicsOf(moves)
	coming := map[partitionName][]int32{} // replicas that a partition does not have yet
	for _, p := range pending {
		if topics[p.Topic] {
			coming[partitionName{p.Topic, p.Partition}] = p.Adding
			t.add(p.Topic, p.Partition, without(p.Replicas, p.Adding), p.Adding)
		}
	}
	for _, m := range moves {
		has := without(m.From, coming[partitionName{m.Topic, m.Partition}])
		t.add(m.Topic, m.Partition, has, without(m.To, has))
	}
	return t
}

// partitionName names a partition.
type partitionName struct {
	topic     string
	partition int32
}

// add adds what one partition copies.
func (t *throttling) add(topic string, partition int32, from, to []int32) {
	for _, id := range from {
		t.leaders.add(replica{topic, partition, id})
		t.brokers[id] = true
	}
	for _, id := range to {
		t.followers.add(replica{topic, partition, id})
		t.brokers[id] = true
	}
}

// without is a list without some of its members.
func without(list, gone []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(id int32) bool { return slices.Contains(gone, id) })
}

// Throttle has the moves, which are not begun yet, copy no more than so many bytes a
// second from each broker and to each. Moves of the same topics that are under way are
// held back too. A broker that is not there copies nothing, and could not be told a rate.
func Throttle(ctx context.Context, cluster kmsg.Requestor, moves []Move, bytesPerSecond int64) error {
	pending, err := List(ctx, cluster)
	if err != nil {
		return err
	}
	alive, err := living(ctx, cluster)
	if err != nil {
		return err
	}
	t := throttle(moves, pending)
	maps.DeleteFunc(t.brokers, func(id int32, _ bool) bool { return !alive[id] })
	var changes []change
	for _, topic := range slices.Sorted(maps.Keys(topicsOf(moves))) {
		changes = append(changes, change{kmsg.ConfigResourceTypeTopic, topic, map[string]string{
			leaderReplicas: t.leaders.of(topic), followerReplicas: t.followers.of(topic)}})
	}
	rate := strconv.FormatInt(bytesPerSecond, 10)
	for _, id := range slices.Sorted(maps.Keys(t.brokers)) {
		changes = append(changes, change{kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(id)), map[string]string{leaderRate: rate, followerRate: rate}})
	}
	return alterConfigs(ctx, cluster, changes)
}

// living asks a cluster which brokers are there.
func living(ctx context.Context, cluster kmsg.Requestor) (map[int32]bool, error) {
	q := kmsg.NewPtrMetadataRequest()
	q.Topics = []kmsg.MetadataRequestTopic{} // of none; nil would be all
	answer, err := q.RequestWith(ctx, cluster)
	if err != nil {
		return nil, err
	}
	alive := map[int32]bool{}
	for _, b := range answer.Brokers {
		alive[b.NodeID] = true
	}
	return alive, nil
}

// topicsOf are the topics of moves.
func topicsOf(moves []Move) map[string]bool {
	topics := map[string]bool{}
	for _, m := range moves {
		topics[m.Topic] = true
	}
	return topics
}

// Unthrottle holds the topics back no more, and takes the rates of the brokers away.
func Unthrottle(ctx context.Context, cluster kmsg.Requestor, topics []string, brokers []int32) error {
	var changes []change
	for _, topic := range topics {
		changes = append(changes, change{kmsg.ConfigResourceTypeTopic, topic, map[string]string{leaderReplicas: "", followerReplicas: ""}})
	}
	for _, id := range brokers {
		changes = append(changes, change{kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(id)), map[string]string{leaderRate: "", followerRate: ""}})
	}
	return alterConfigs(ctx, cluster, changes)
}

// change sets configs of a topic or a broker; an empty value takes one away.
type change struct {
	kind   kmsg.ConfigResourceType
	name   string
	values map[string]string
}

// alterConfigs makes changes, and goes on after one that is refused.
func alterConfigs(ctx context.Context, cluster kmsg.Requestor, changes []change) error {
	var errs []error
	for some := range slices.Chunk(changes, throttledMax) {
		q := kmsg.NewPtrIncrementalAlterConfigsRequest()
		for _, c := range some {
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = c.kind, c.name
			for _, key := range slices.Sorted(maps.Keys(c.values)) {
				k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
				k.Name, k.Op = key, kmsg.IncrementalAlterConfigOpDelete
				if value := c.values[key]; value != "" {
					k.Op, k.Value = kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(value)
				}
				r.Configs = append(r.Configs, k)
			}
			q.Resources = append(q.Resources, r)
		}
		answers, err := q.RequestWith(ctx, cluster)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, r := range answers.Resources {
			if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
				errs = append(errs, fmt.Errorf("throttle of %s %s: %w", strings.ToLower(r.ResourceType.String()), r.ResourceName, told(err, text(r.ErrorMessage))))
			}
		}
	}
	return errors.Join(errs...)
}

// text is a text that may be missing.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Throttled finds those of the topics that name replicas to hold back.
func Throttled(ctx context.Context, cluster kmsg.Requestor, topics []string) (found []string, err error) {
	for some := range slices.Chunk(topics, throttledMax) {
		q := kmsg.NewPtrDescribeConfigsRequest()
		for _, topic := range some {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{leaderReplicas, followerReplicas}
			q.Resources = append(q.Resources, r)
		}
		answers, err := q.RequestWith(ctx, cluster)
		if err != nil {
			return nil, err
		}
		for _, r := range answers.Resources {
			if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
				return nil, fmt.Errorf("throttle of topic %s: %w", r.ResourceName, told(err, text(r.ErrorMessage)))
			}
			if slices.ContainsFunc(r.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool { return text(c.Value) != "" }) {
				found = append(found, r.ResourceName)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
