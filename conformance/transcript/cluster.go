package transcript

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is the brokers under test. Their ids are 1, 2, … Brokers.
type Cluster struct {
	Brokers int
	Dial    func(broker int) (net.Conn, error)
	// Stop stops a broker in order and returns when it is gone, Start starts it again
	// and returns when it serves; nil: they always run.
	Stop, Start func(broker int) error
}

// single is a cluster of one broker.
func single(dial Dialer) Cluster {
	return Cluster{Brokers: 1, Dial: func(int) (net.Conn, error) { return dial() }}
}

// brokerOf is the broker of a connection's name: 1 unless it ends with "@" and another.
func brokerOf(conn string) int {
	_, id, _ := strings.Cut(conn, "@")
	if n, err := strconv.Atoi(id); err == nil {
		return n
	}
	return 1
}

// lifecycle stops or starts a broker; its connections are gone either way.
func (p *player) lifecycle(what, id string) error {
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > p.cluster.Brokers {
		return fmt.Errorf("%s wants one of the brokers 1 to %d", what, p.cluster.Brokers)
	}
	do := p.cluster.Stop
	if what == "start" {
		do = p.cluster.Start
	}
	if do == nil {
		return errors.New("this cluster does not stop brokers")
	}
	for name := range p.conns {
		if brokerOf(name) == n {
			p.drop(name)
		}
	}
	delete(p.stopped, n)
	if what == "stop" {
		p.stopped[n] = true
	}
	return do(n)
}

// assignment reads the replicas of a topic's partitions: 1,2/2,3 are two partitions.
func assignment(text string) (out []kmsg.CreateTopicsRequestTopicReplicaAssignment, err error) {
	for n, list := range strings.Split(text, "/") {
		a := kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(n)}
		for _, word := range strings.Split(list, ",") {
			id, err := strconv.ParseInt(word, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("replicas %q: %w", text, err)
			}
			a.Replicas = append(a.Replicas, int32(id))
		}
		out = append(out, a)
	}
	return out, nil
}

// awaitReplicas waits until every broker that runs knows the topic, and all replicas
// are in sync with the first of them as the leader.
func (p *player) awaitReplicas(name string) error {
	for broker := 1; broker <= p.cluster.Brokers; broker++ {
		if p.stopped[broker] {
			continue
		}
		if err := p.awaitReplicasOn(broker, name); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) awaitReplicasOn(broker int, name string) error {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(9)
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	complete := func(t kmsg.MetadataResponseTopic) bool {
		return t.ErrorCode == 0 && !slices.ContainsFunc(t.Partitions, func(p kmsg.MetadataResponseTopicPartition) bool {
			return p.ErrorCode != 0 || p.Leader != p.Replicas[0] || len(p.ISR) != len(p.Replicas)
		})
	}
	c, err := p.conn(ownConn + "@" + strconv.Itoa(broker))
	if err != nil {
		return err
	}
	for range retryMax {
		resp, err := c.call(req)
		if err != nil {
			return fmt.Errorf("topic %s: %w", name, err)
		}
		topics := resp.(*kmsg.MetadataResponse).Topics
		if len(topics) == 1 && complete(topics[0]) {
			p.masks.name("topicid", hex.EncodeToString(topics[0].TopicID[:]))
			return nil
		}
		time.Sleep(retryPause)
	}
	return fmt.Errorf("broker %d does not know the replicas of topic %s", broker, name)
}
