package meta

import (
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// Names of the configs that elections depend on.
const (
	MinISRConfig          = "min.insync.replicas"
	UncleanElectionConfig = "unclean.leader.election.enable"
)

// topicRules is what the configs of a topic say about elections.
type topicRules struct {
	minISR  int
	unclean bool
}

// TopicConfigText is the text of a config that the image has for a topic: the
// topic's own, else the cluster's default; empty: neither.
func (i *Image) TopicConfigText(topic, key string) string {
	if own, ok := i.Config(Resource{ResourceTopic, topic})[key]; ok {
		return own
	}
	return i.Config(Resource{Type: ResourceBroker})[key]
}

// Configure replaces the config of a resource, and draws the consequences for
// partitions: with a lower min.insync.replicas the high watermark may pass who was
// eligible until then, and where an unclean election is allowed from now on it is held.
func (d *Draft) Configure(r Resource, values map[string]string) {
	before := d.config(r)
	d.configs[r] = values
	d.forgetRules()
	if before[MinISRConfig] == values[MinISRConfig] && before[UncleanElectionConfig] == values[UncleanElectionConfig] {
		return
	}
	switch r.Type {
	case ResourceTopic:
		if t, ok := d.old.Topic(r.Name); ok {
			d.consequences(t)
		}
	case ResourceBroker:
		d.lookAgain()
	}
}

// lookAgain draws the consequences of other rules for all topics. Cost: a walk over all
// partitions.
func (d *Draft) lookAgain() {
	for t := range d.old.Topics() {
		d.consequences(t)
	}
}

// consequences draws those of other rules for one topic of the old image.
func (d *Draft) consequences(t *Topic) {
	if mine, ok := d.topics[t.ID]; ok {
		t = mine
	}
	for n := range t.Partitions {
		if p := &t.Partitions[n]; len(p.ELR) > 0 || p.Leader == kafka.NoBroker {
			c := d.change(t)
			d.apply(t, n, &c)
		}
	}
}

// asRuled asks for nothing beside what the rules ask for.
func asRuled(*Partition, *PartitionChange) {}

// forgetRules is for when configs or brokers changed.
func (d *Draft) forgetRules() {
	clear(d.rules)
	d.lowest = 0
}

// config is the config of a resource as the draft has it.
func (d *Draft) config(r Resource) map[string]string {
	if c, ok := d.configs[r]; ok {
		return c
	}
	return d.old.Config(r)
}

// text is Image.TopicConfigText of what the draft has.
func (d *Draft) text(topic, key string) string {
	if own, ok := d.config(Resource{ResourceTopic, topic})[key]; ok {
		return own
	}
	return d.config(Resource{Type: ResourceBroker})[key]
}

// rulesOf are what the configs say about a topic's elections.
func (d *Draft) rulesOf(t *Topic) topicRules {
	if r, ok := d.rules[t.ID]; ok {
		return r
	}
	var r topicRules
	if own := d.config(Resource{ResourceTopic, t.Name})[MinISRConfig]; own != "" {
		r.minISR = atLeastOne(own)
	} else {
		r.minISR = d.lowestMinISR()
	}
	if text := d.text(t.Name, UncleanElectionConfig); text != "" {
		r.unclean = strings.EqualFold(strings.TrimSpace(text), "true")
	} else {
		r.unclean = d.everybodyUnclean()
	}
	d.rules[t.ID] = r
	return r
}

// lowestMinISR is the least that a broker may take for min.insync.replicas of a topic
// that has none of its own: the broker's own config counts more than the cluster's,
// and that more than its settings file. With a lower value records are acknowledged
// earlier, so who is eligible must go by the lowest.
func (d *Draft) lowestMinISR() int {
	if d.lowest > 0 {
		return d.lowest
	}
	all := d.config(Resource{Type: ResourceBroker})[MinISRConfig]
	for b := range d.everyBroker() {
		n := max(b.MinISR, 1)
		if own := d.config(Resource{ResourceBroker, strconv.Itoa(int(b.ID))})[MinISRConfig]; own != "" {
			n = atLeastOne(own)
		} else if all != "" {
			n = atLeastOne(all)
		}
		if d.lowest == 0 || n < d.lowest {
			d.lowest = n
		}
	}
	d.lowest = max(d.lowest, 1)
	return d.lowest
}

// everybodyUnclean says whether the settings files of all brokers allow unclean
// elections.
func (d *Draft) everybodyUnclean() bool {
	all := false
	for b := range d.everyBroker() {
		if !b.Unclean {
			return false
		}
		all = true
	}
	return all
}

// atLeastOne reads a checked config; what can't be read counts as 1, Kafka's default.
func atLeastOne(text string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(text))
	return max(n, 1)
}
