package meta

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestOldImagesStayAsTheyWere holds that an edit changes nothing that others see.
func TestOldImagesStayAsTheyWere(t *testing.T) {
	topic := func(name string, id byte, partitions int) *Topic {
		return &Topic{Name: name, ID: kafka.TopicID{id}, Partitions: make([]Partition, partitions)}
	}
	resource := func(name string) Resource { return Resource{ResourceTopic, name} }
	describe := func(i *Image) string {
		var b strings.Builder
		for topic := range i.Topics() {
			fmt.Fprintf(&b, "%s id %d of %d, ", topic.Name, topic.ID[0], len(topic.Partitions))
		}
		for r := range i.ConfigResources() {
			fmt.Fprintf(&b, "%v %v, ", r, i.Config(r))
		}
		fmt.Fprintf(&b, "%d brokers, %v, %d partitions", i.BrokerCount(), i.Features(), i.PartitionCount())
		return b.String()
	}
	first := Empty("c")
	e := first.Edit(1)
	e.PutTopic(topic("a", 1, 2))
	e.PutTopic(topic("b", 2, 3))
	e.SetConfig(resource("a"), map[string]string{"k": "1"})
	e.SetConfig(Resource{ResourceBroker, "a"}, map[string]string{"k": "2"})
	e.PutBroker(&Broker{ID: 1})
	e.SetFeature("f", 3)
	second := e.Image()
	e = second.Edit(2)
	e.PutTopic(topic("a", 9, 4)) // made again, with another id
	e.RemoveTopic("b")
	e.SetConfig(resource("a"), map[string]string{"k": "3"})
	e.SetConfig(Resource{ResourceBroker, "a"}, nil)
	e.SetConfig(resource("none"), nil)
	e.RemoveBroker(1)
	e.SetFeature("f", 0)
	third := e.Image()
	for _, c := range []struct {
		image *Image
		want  string
	}{
		{first, "0 brokers, map[], 0 partitions"},
		{second, "a id 1 of 2, b id 2 of 3, {2 a} map[k:1], {4 a} map[k:2], 1 brokers, map[f:3], 5 partitions"},
		{third, "a id 9 of 4, {2 a} map[k:3], 0 brokers, map[], 4 partitions"},
	} {
		if got := describe(c.image); got != c.want {
			t.Errorf("image %d is\n%s, want\n%s", c.image.Index, got, c.want)
		}
	}
	if _, ok := third.TopicByID(kafka.TopicID{1}); ok {
		t.Error("the id of the topic that was replaced still finds one")
	}
	if got := slices.Collect(maps.Keys(third.Config(resource("b")))); len(got) != 0 {
		t.Errorf("a topic without a config has %v", got)
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	name := strings.Repeat("n", 249) // the longest that a topic can have
	e := Empty("c").Edit(1)
	e.SetConfig(Resource{ResourceTopic, name}, map[string]string{"k": "v"})
	e.PutTopic(&Topic{Name: name, ID: kafka.TopicID{7}, Partitions: make([]Partition, 1)})
	img := e.Image()
	allocs := testing.AllocsPerRun(100, func() {
		if len(img.Config(Resource{ResourceTopic, name})) != 1 || img.Config(Resource{ResourceTopic, "other"}) != nil {
			t.Error("the config was not found")
		}
		if _, ok := img.TopicByID(kafka.TopicID{7}); !ok {
			t.Error("the topic was not found")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
