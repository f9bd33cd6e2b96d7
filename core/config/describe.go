package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Source is where a value comes from, by the protocol's numbers
// (DescribeConfigs.ConfigSource).
type Source int8

// The sources of values.
const (
	SourceTopic         Source = 1 // the topic's own
	SourceBroker        Source = 2 // dynamic, of this broker
	SourceClusterWide   Source = 3 // dynamic, of all brokers
	SourceFile          Source = 4 // the config file
	SourceDefault       Source = 5
	SourceLogger        Source = 6 // dynamic, of this broker, until it stops
	SourceClientMetrics Source = 7
	SourceGroup         Source = 8
)

// Entry is one key as clients see it.
type Entry struct {
	Name      string
	Value     *string // nil: none, or sensitive
	ReadOnly  bool
	Sensitive bool
	Source    Source
	Synonyms  []Synonym // where the value comes from, and what would count without it
	Type      Type
	Doc       string
}

// Synonym is one place where a value of the key is set.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Facts are the values of keys that can't be set, by name.
type Facts map[string]string

// DescribeTopic describes every key of a topic with the given own values, by name.
// Topics without any share one description: the caller must not change it.
func (r *Resolver) DescribeTopic(img *meta.Image, own map[string]string) []Entry {
	d := r.resolve(img)
	entries := d.described()
	if len(own) == 0 {
		return entries
	}
	entries = slices.Clone(entries)
	for name := range own {
		k := keys().topicByName[name]
		if k == nil || k.Internal {
			continue
		}
		v := d.topicValue(own, name)
		at, found := slices.BinarySearchFunc(entries, name, func(e Entry, name string) int { return cmp.Compare(e.Name, name) })
		if !found { // a key that is described only where it is set
			entries = slices.Insert(entries, at, Entry{Name: name, Type: k.Type, Doc: k.Doc})
		}
		e := &entries[at]
		e.Value = &v.Text
		e.Synonyms = append([]Synonym{{name, &v.Text, SourceTopic}}, e.Synonyms...)
		e.takeSource()
	}
	return entries
}

// describeTopic describes every key of a topic without own values.
func (d *resolved) describeTopic() []Entry {
	entries := make([]Entry, 0, len(keys().topicSorted))
	for _, k := range keys().topicSorted {
		if k.WhenSet {
			continue
		}
		v := d.defaults[k.Name]
		e := Entry{Name: k.Name, Value: &v.Text, Type: k.Type, Doc: k.Doc}
		if len(k.Synonyms) > 0 {
			e.Synonyms = d.layers.synonyms(k.Synonyms[0])
		}
		e.takeSource()
		entries = append(entries, e)
	}
	return entries
}

// DescribeBroker describes every key of the resolver's broker, by name. Dynamic
// values under names that nobody knows are there too, hidden as Kafka hides them.
func (r *Resolver) DescribeBroker(img *meta.Image, facts Facts) []Entry {
	l := r.resolve(img).layers
	entries := make([]Entry, 0, len(keys().brokerSorted))
	for _, k := range keys().brokerSorted {
		if e := l.entry(k, facts); !k.WhenSet || len(e.Synonyms) > 0 {
			entries = append(entries, e)
		}
	}
	for _, name := range unknownNames(l.own, l.cluster) {
		e := Entry{Name: name, Sensitive: true, ReadOnly: true, Synonyms: l.synonyms(name)}
		e.takeSource()
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

// entry describes one broker key.
func (l *layers) entry(k *Key, facts Facts) Entry {
	e := Entry{Name: k.Name, ReadOnly: k.ReadOnly, Sensitive: k.Sensitive, Type: k.Type, Doc: k.Doc}
	if fact, ok := facts[k.Name]; ok {
		e.Value = &fact
		e.Synonyms = append(e.Synonyms, Synonym{k.Name, e.Value, SourceFile})
		if k.HasDefault() {
			e.Synonyms = append(e.Synonyms, Synonym{k.Name, &k.Default, SourceDefault})
		}
		e.takeSource()
		return e
	}
	if v, ok := l.find(k); ok && !k.Sensitive {
		e.Value = &v.Text
	}
	e.Synonyms = l.synonyms(k.Name)
	e.takeSource()
	return e
}

// DescribeCluster describes the dynamic defaults of all brokers, by name: only
// those that are set.
func (r *Resolver) DescribeCluster(img *meta.Image) []Entry {
	l := r.resolve(img).layers
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(l.cluster)) {
		value := l.cluster[name]
		e := Entry{Name: name, Sensitive: true, Source: SourceClusterWide, ReadOnly: true}
		if k := keys().brokerByName[name]; k != nil {
			e.Sensitive, e.ReadOnly, e.Type, e.Doc = k.Sensitive, k.ReadOnly, k.Type, k.Doc
		}
		if !e.Sensitive {
			e.Value = &value
		}
		e.Synonyms = []Synonym{{name, e.Value, SourceClusterWide}}
		entries = append(entries, e)
	}
	return entries
}

// takeSource names the first synonym's source as the entry's.
func (e *Entry) takeSource() {
	e.Source = SourceDefault
	if len(e.Synonyms) > 0 {
		e.Source = e.Synonyms[0].Source
	}
}

// synonyms lists where a value of the broker key is set, highest first. As in
// Kafka what stands before the first value under the key's own name is left out,
// so that a key without a value of its own has no synonyms.
func (l *layers) synonyms(name string) []Synonym {
	var all []Synonym
	add := func(source Source, values map[string]string) {
		for _, n := range sameSetting(name) {
			if value, set := values[n]; set {
				all = append(all, Synonym{n, l.shown(n, value), source})
			}
		}
	}
	add(SourceBroker, l.own)
	add(SourceClusterWide, l.cluster)
	add(SourceFile, *l.static)
	for _, n := range sameSetting(name) {
		if k := keys().brokerByName[n]; k != nil && k.HasDefault() {
			value, changed := l.defaults[n]
			if !changed {
				value = k.Default
			}
			all = append(all, Synonym{n, l.shown(n, value), SourceDefault})
		}
	}
	first := slices.IndexFunc(all, func(s Synonym) bool { return s.Name == name })
	if first < 0 {
		return nil
	}
	return all[first:]
}

// shown is a value for the eyes of clients.
func (l *layers) shown(name, value string) *string {
	if k := keys().brokerByName[name]; k == nil || k.Sensitive {
		return nil
	}
	return &value
}

// sameSetting lists the broker keys that set the same thing, the finest first.
func sameSetting(name string) []string {
	groups := [...][]string{
		{"log.roll.ms", "log.roll.hours"},
		{"log.roll.jitter.ms", "log.roll.jitter.hours"},
		{"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
	}
	if name == "log.flush.interval.ms" {
		return []string{name, "log.flush.scheduler.interval.ms"}
	}
	for _, g := range groups {
		if slices.Contains(g, name) {
			return g
		}
	}
	return []string{name}
}

// unknownNames are the names in the maps that are no broker keys, sorted.
func unknownNames(all ...map[string]string) []string {
	found := map[string]bool{}
	for _, values := range all {
		for name := range values {
			if keys().brokerByName[name] == nil {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Self is the broker that the resolver works for.
func (r *Resolver) Self() kafka.BrokerID { return r.self }
