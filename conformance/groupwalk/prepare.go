package main

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// prepareMax bounds how long a broker may take until all groups are served.
const prepareMax = 60 * time.Second

// prepare makes the topics that all groups share, and waits until the broker serves
// the groups with these names: it makes and loads __consumer_offsets first.
func (s *side) prepare(groups []string) error {
	if err := s.configure(groups); err != nil {
		return err
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(5)
	create.TimeoutMillis = 30_000
	for _, name := range []string{"walk-t0", "walk-t1"} {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, 2, 1
		create.Topics = append(create.Topics, t)
	}
	answer, err := s.ask("walk", create)
	if err != nil {
		return err
	}
	for _, t := range answer.(*kmsg.CreateTopicsResponse).Topics {
		const exists = 36
		if t.ErrorCode != 0 && t.ErrorCode != exists {
			return fmt.Errorf("%s: topic %s: %s", s.name, t.Topic, errorName(t.ErrorCode))
		}
	}
	for begin := time.Now(); ; time.Sleep(tick) {
		waiting, err := s.unserved(groups)
		if err != nil {
			return err
		}
		known, err := s.learnTopics()
		if err != nil {
			return err
		}
		if waiting == 0 && known {
			return nil
		}
		if time.Since(begin) > prepareMax {
			return fmt.Errorf("%s: %d groups are still not served after %v", s.name, waiting, prepareMax)
		}
	}
}

// groupConfigs are the settings of each group: no session ends within a walk, and a
// target is computed at once.
var groupConfigs = [][2]string{
	{"consumer.session.timeout.ms", "45000"}, {"consumer.heartbeat.interval.ms", "5000"}, {"consumer.assignment.interval.ms", "0"},
}

// configure gives the groups their settings.
func (s *side) configure(groups []string) error {
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.SetVersion(1)
	for _, group := range groups {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
		for _, pair := range groupConfigs {
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Value = pair[0], &pair[1]
			r.Configs = append(r.Configs, c)
		}
		alter.Resources = append(alter.Resources, r)
	}
	answer, err := s.ask("walk", alter)
	if err != nil {
		return err
	}
	for _, r := range answer.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			return fmt.Errorf("%s: settings of group %s: %s", s.name, r.ResourceName, errorName(r.ErrorCode))
		}
	}
	return nil
}

// learnTopics asks for the ids of the shared topics, until they are known.
func (s *side) learnTopics() (known bool, err error) {
	s.mu.Lock()
	known = s.topics != nil
	s.mu.Unlock()
	if known {
		return true, nil
	}
	ask := kmsg.NewPtrMetadataRequest()
	ask.SetVersion(12)
	for _, name := range []string{"walk-t0", "walk-t1"} {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		ask.Topics = append(ask.Topics, t)
	}
	answer, err := s.ask("walk", ask)
	if err != nil {
		return false, err
	}
	topics := make(map[[16]byte]string)
	for _, t := range answer.(*kmsg.MetadataResponse).Topics {
		if t.ErrorCode != 0 {
			return false, nil // made, and not everywhere yet
		}
		topics[t.TopicID] = *t.Topic
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics = topics
	return true, nil
}

// unserved counts the groups whose coordinator is not there yet, and asks for it.
func (s *side) unserved(groups []string) (int, error) {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.SetVersion(4)
	find.CoordinatorKeys = groups
	if _, err := s.ask("walk", find); err != nil {
		return 0, err
	}
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.SetVersion(5)
	describe.Groups = groups
	answer, err := s.ask("walk", describe)
	if err != nil {
		return 0, err
	}
	waiting := 0
	for _, g := range answer.(*kmsg.DescribeGroupsResponse).Groups {
		if g.ErrorCode != 0 {
			waiting++
		}
	}
	return waiting, nil
}
