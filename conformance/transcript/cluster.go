package transcript

import (
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
	if err := do(n); err != nil {
		return err
	}
	if what == "stop" {
		p.stopped[n] = true
		return nil
	}
	delete(p.stopped, n)
	return p.awaitBrokers()
}

// awaitBrokers waits until all brokers that run know each other.
func (p *player) awaitBrokers() error {
	for broker := 1; broker <= p.cluster.Brokers; broker++ {
		if p.stopped[broker] {
			continue
		}
		all := func(r *kmsg.MetadataResponse) bool { return len(r.Brokers) == p.cluster.Brokers-len(p.stopped) }
		if err := p.awaitMetadata(broker, []kmsg.MetadataRequestTopic{}, all); err != nil {
			return fmt.Errorf("broker %d does not know all the others: %w", broker, err)
		}
	}
	return nil
}

// errNotSeen says that a broker's metadata did not become what was waited for.
var errNotSeen = errors.New("not seen in its metadata")

// awaitMetadata asks a broker until its metadata pleases.
func (p *player) awaitMetadata(broker int, topics []kmsg.MetadataRequestTopic, please func(*kmsg.MetadataResponse) bool) error {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(9)
	req.Topics = topics
	c, err := p.conn(ownConn + "@" + strconv.Itoa(broker))
	if err != nil {
		return err
	}
	for range retryMax {
		resp, err := c.call(req)
		if err != nil {
			return err
		}
		if please(resp.(*kmsg.MetadataResponse)) {
			return nil
		}
		time.Sleep(retryPause)
	}
	return errNotSeen
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
	return p.awaitTopic(name, func(p *kmsg.MetadataResponseTopicPartition) bool {
		return p.Leader == p.Replicas[0] && len(p.ISR) == len(p.Replicas)
	})
}

// awaitInSync waits until replicas of a topic are in sync, whoever leads, and every
// broker that runs knows that: NAME is all replicas, NAME=2 two of each partition.
func (p *player) awaitInSync(topic string) error {
	name, text, some := strings.Cut(topic, "=")
	want, err := strconv.Atoi(text)
	if some && err != nil {
		return fmt.Errorf("insync %s: %w", topic, err)
	}
	return p.awaitTopic(name, func(p *kmsg.MetadataResponseTopicPartition) bool {
		return some && len(p.ISR) == want || len(p.ISR) == len(p.Replicas)
	})
}

// awaitTopic waits until every partition of a topic pleases.
func (p *player) awaitTopic(name string, please func(*kmsg.MetadataResponseTopicPartition) bool) error {
	complete := func(r *kmsg.MetadataResponse) bool {
		return len(r.Topics) == 1 && r.Topics[0].ErrorCode == 0 &&
			!slices.ContainsFunc(r.Topics[0].Partitions, func(p kmsg.MetadataResponseTopicPartition) bool {
				return p.ErrorCode != 0 || !please(&p)
			})
	}
	for broker := 1; broker <= p.cluster.Brokers; broker++ {
		if p.stopped[broker] {
			continue
		}
		if err := p.awaitMetadata(broker, []kmsg.MetadataRequestTopic{{Topic: &name}}, complete); err != nil {
			return fmt.Errorf("broker %d: topic %s: %w", broker, name, err)
		}
	}
	return nil
}
