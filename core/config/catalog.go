package config

import (
	"cmp"
	"slices"
	"sync"
)

// catalog is every key, looked up by name. It never changes.
type catalog struct {
	topic, broker, facts []Key // topic in the order of Kafka's checks
	group, clientMetrics []Key // in the order of Kafka's checks
	topicByName          map[string]*Key
	brokerByName         map[string]*Key // facts too
	groupByName          map[string]*Key
	topicSorted          []*Key // without internal keys
	brokerSorted         []*Key // facts too
	groupSorted          []*Key
}

// keys is the one catalog: it depends on nothing.
var keys = sync.OnceValue(newCatalog)

func newCatalog() *catalog {
	c := &catalog{topic: topicKeys(), broker: brokerKeys(), facts: factKeys(),
		group: perGroupKeys(), clientMetrics: clientMetricsKeys(),
		topicByName: map[string]*Key{}, brokerByName: map[string]*Key{}, groupByName: map[string]*Key{}}
	for i := range c.topic {
		k := &c.topic[i]
		c.topicByName[k.Name] = k
		if !k.Internal {
			c.topicSorted = append(c.topicSorted, k)
		}
	}
	for _, group := range [][]Key{c.broker, c.facts} {
		for i := range group {
			c.brokerByName[group[i].Name] = &group[i]
			c.brokerSorted = append(c.brokerSorted, &group[i])
		}
	}
	for i := range c.group {
		c.groupByName[c.group[i].Name] = &c.group[i]
		c.groupSorted = append(c.groupSorted, &c.group[i])
	}
	byName := func(a, b *Key) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(c.topicSorted, byName)
	slices.SortFunc(c.brokerSorted, byName)
	slices.SortFunc(c.groupSorted, byName)
	return c
}

// TopicKeys are the keys that topics can have, by name, without internal ones.
func TopicKeys() []Key { return copies(keys().topicSorted, func(*Key) bool { return true }) }

// BrokerKeys are the keys that the config file can set, by name.
func BrokerKeys() []Key {
	c := keys()
	return copies(c.brokerSorted, func(k *Key) bool { return !c.isFact(k) })
}

// GroupKeys are the keys that groups can have, by name.
func GroupKeys() []Key { return copies(keys().groupSorted, func(*Key) bool { return true }) }

// ClientMetricsKeys are the keys that subscriptions to clients' metrics can have, by
// name.
func ClientMetricsKeys() []Key { return slices.Clone(keys().clientMetrics) }

// copies copies the keys that pass.
func copies(all []*Key, pass func(*Key) bool) []Key {
	var out []Key
	for _, k := range all {
		if pass(k) {
			out = append(out, *k)
		}
	}
	return out
}

// isFact reports whether a broker key can't be set at all.
func (c *catalog) isFact(k *Key) bool {
	return slices.ContainsFunc(c.facts, func(f Key) bool { return f.Name == k.Name })
}

// LookupBroker finds a broker key that the config file can set.
func LookupBroker(name string) (Key, bool) {
	c := keys()
	k, ok := c.brokerByName[name]
	if !ok || c.isFact(k) {
		return Key{}, false
	}
	return *k, true
}

// LookupList finds a key whose values are lists, to which elements can be added and
// from which they can be taken. Keys of groups and of client metrics are none: that
// Kafka says so even of metrics, which is one, is on its side.
func LookupList(s Scope, name string) (Key, bool) {
	var byName map[string]*Key
	switch s {
	case TopicScope:
		byName = keys().topicByName
	case BrokerScope:
		byName = keys().brokerByName
	}
	k, ok := byName[name]
	if !ok || k.Type != List {
		return Key{}, false
	}
	return *k, true
}
