package transcript

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// directive carries out a line that is no step.
func (p *player) directive(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(line, "#") || words[0] == "differs" {
		return nil
	}
	switch words[0] {
	case "keep", "drop":
		if len(words) < 3 {
			return fmt.Errorf("%s wants a field and globs", words[0])
		}
		to := p.masks.keeps
		if words[0] == "drop" {
			to = p.masks.leaves
		}
		to[words[1]] = words[2:]
		return nil
	case "sort":
		for _, name := range words[1:] {
			p.masks.sorted[name] = true
		}
		return nil
	case "mask":
		if len(words) < 2 {
			return fmt.Errorf("mask wants FIELD [AS]")
		}
		as := "$any"
		if len(words) > 2 {
			as = "$" + words[2]
		}
		p.masks.fields[words[1]] = as
		return nil
	case "settle":
		if p.settles {
			time.Sleep(settleTime)
		}
		return nil
	case "login":
		if len(words) < 2 || len(words) > 3 {
			return fmt.Errorf("login wants USER [CONN]")
		}
		p.login(words[1], strings.Join(words[2:], ""))
		return nil
	case "stop", "start":
		return p.lifecycle(words[0], strings.Join(words[1:], " "))
	case "insync":
		for _, topic := range words[1:] {
			if err := p.awaitInSync(topic); err != nil {
				return err
			}
		}
		return nil
	case "close":
		p.drop(strings.Join(words[1:], ""))
		return nil
	case "topic":
		if len(words) < 2 {
			return fmt.Errorf("topic wants NAME [partitions=N|replicas=1,2/2,3] [K=V...]")
		}
		return p.topic(words[1], words[2:])
	}
	return fmt.Errorf("unknown directive %q", words[0])
}

// topic creates a topic and waits until every partition answers its leader's requests.
func (p *player) topic(name string, options []string) error {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		if k == "replicas" {
			var err error
			if t.ReplicaAssignment, err = assignment(v); err != nil {
				return fmt.Errorf("topic %s: %w", name, err)
			}
			t.NumPartitions, t.ReplicationFactor = -1, -1
			if err := p.awaitBrokers(); err != nil {
				return err
			}
			continue
		}
		if k == "partitions" {
			n, err := strconv.ParseInt(v, 10, 32)
			if err != nil {
				return fmt.Errorf("topic %s: %s: %w", name, o, err)
			}
			t.NumPartitions = int32(n)
			continue
		}
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, &v
		t.Configs = append(t.Configs, c)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(7)
	req.TimeoutMillis = 30_000
	req.Topics = append(req.Topics, t)
	resp, err := p.call(req)
	if err != nil {
		return fmt.Errorf("topic %s: %w", name, err)
	}
	for _, r := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if r.ErrorCode != 0 {
			return fmt.Errorf("topic %s: %s", name, errorName(r.ErrorCode))
		}
		p.masks.name("topicid", hex.EncodeToString(r.TopicID[:]))
	}
	if t.ReplicaAssignment != nil {
		return p.awaitReplicas(name)
	}
	return p.awaitLeaders(name, t.NumPartitions)
}

func (p *player) awaitLeaders(name string, partitions int32) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(1)
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = name
	for i := range partitions {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = i, -1
		t.Partitions = append(t.Partitions, part)
	}
	req.Topics = append(req.Topics, t)
	for try := 1; ; try++ {
		resp, err := p.call(req)
		if err != nil {
			return fmt.Errorf("topic %s: %w", name, err)
		}
		var bad int16
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, part := range t.Partitions {
				if part.ErrorCode != 0 {
					bad = part.ErrorCode
				}
			}
		}
		if bad == 0 {
			return nil
		}
		if try == retryMax {
			return fmt.Errorf("topic %s is not served: %s", name, errorName(bad))
		}
		time.Sleep(retryPause)
	}
}

// call sends a request on the player's own connection.
func (p *player) call(req kmsg.Request) (kmsg.Response, error) {
	c, err := p.conn(ownConn)
	if err != nil {
		return nil, err
	}
	return c.call(req)
}
