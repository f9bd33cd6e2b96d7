package config

import (
	"maps"
	"slices"
	"strconv"

	"github.com/mortisemq/mortise/core/meta"
)

// Group is the effective configuration of one consumer group (KIP-848, and KIP-1240
// for its limits). Times are milliseconds. It is a value: copy it freely.
type Group struct {
	SessionTimeoutMS     int32 // silence after which a member is out
	HeartbeatIntervalMS  int32 // what members are told
	AssignmentIntervalMS int32 // least time between two target assignments
}

// groupKey is a key of groups. Its default is the one of its broker key, which also
// has the limits: least and most are the names of the broker keys that hold them.
func groupKey(name string, check Check, least, most, doc, synonym string) Key {
	return Key{Name: name, Type: Int, Scope: GroupScope, check: check, Doc: doc, Synonyms: []string{synonym}, Live: true,
		least: least, most: most}
}

// perGroupKeys are the keys of groups, in the order in which Kafka checks ranges.
// Those of share and streams groups are not here: this broker has no such groups.
func perGroupKeys() []Key {
	return []Key{
		groupKey("consumer.heartbeat.interval.ms", atLeast(1),
			"group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms",
			"How often in ms the members of the group are told to send a heartbeat (consumer protocol).",
			"group.consumer.heartbeat.interval.ms"),
		groupKey("consumer.session.timeout.ms", atLeast(1),
			"group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms",
			"How long in ms a member may be silent before it is out of the group (consumer protocol).",
			"group.consumer.session.timeout.ms"),
		groupKey("consumer.assignment.interval.ms", atLeast(0),
			"group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms",
			"How long in ms a new assignment waits at least after the one before (consumer protocol).",
			"group.consumer.assignment.interval.ms"),
	}
}

// Group is the effective configuration of a group. A value of the group's own that
// is out of the broker's limits counts as the nearest limit, as in Kafka: the limits
// may have changed since it was set.
//
// Hot: per heartbeat. 0 allocs for groups without own values.
func (r *Resolver) Group(img *meta.Image, group string) Group {
	d := r.resolve(img)
	own := img.Config(meta.Resource{Type: meta.ResourceGroup, Name: group})
	if len(own) == 0 {
		return d.group
	}
	return newGroup(func(name string) Value { return d.layers.groupValue(own, keys().groupByName[name]) })
}

// newGroup puts effective values into their fields.
func newGroup(value func(name string) Value) Group {
	number := func(name string) int32 { return int32(value(name).Int) }
	return Group{
		SessionTimeoutMS:     number("consumer.session.timeout.ms"),
		HeartbeatIntervalMS:  number("consumer.heartbeat.interval.ms"),
		AssignmentIntervalMS: number("consumer.assignment.interval.ms"),
	}
}

// groupValue is the value of a key for a group with own values.
func (l *layers) groupValue(own map[string]string, k *Key) Value {
	text, set := own[k.Name]
	v, err := k.Parse(text)
	if !set || err != nil {
		return l.brokerValue(k.Synonyms[0])
	}
	least, most := l.limits(k)
	if limited := min(max(v.Int, least), most); limited != v.Int {
		v.Int, v.Text = limited, strconv.FormatInt(limited, 10)
	}
	return v
}

// limits are what the broker allows groups to set a key to.
func (l *layers) limits(k *Key) (least, most int64) {
	return l.brokerValue(k.least).Int, l.brokerValue(k.most).Int
}

// CheckGroup says what is wrong with the own values of a group, in Kafka's words and
// order: names, values, the broker's limits, what does not go together.
func (r *Resolver) CheckGroup(img *meta.Image, values map[string]string) error {
	c, l := keys(), r.resolve(img).layers
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if c.groupByName[name] == nil {
			return &InvalidError{"Unknown group config name: " + name}
		}
	}
	effective := map[string]Value{}
	for _, k := range c.groupSorted {
		text, set := values[k.Name]
		if !set {
			continue
		}
		v, err := k.Parse(text)
		if err != nil {
			return err
		}
		effective[k.Name] = v
	}
	for i := range c.group {
		k := &c.group[i]
		v, set := effective[k.Name]
		if least, most := l.limits(k); set && (v.Int < least || v.Int > most) {
			return outOfRange(k.Name, least, most)
		}
	}
	return l.checkSession(effective)
}

// outOfRange is Kafka's refusal of a group's value by the broker's limits.
func outOfRange(name string, least, most int64) error {
	return &InvalidError{name + " must be in the range " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10) + " inclusive."}
}

// checkSession wants a session to outlast the time between two heartbeats. values
// are a group's own; the broker's count for what is not set.
func (l *layers) checkSession(values map[string]Value) error {
	const session, heartbeat = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
	s, ownSession := values[session]
	h, ownHeartbeat := values[heartbeat]
	if !ownSession {
		s = l.brokerValue("group." + session)
	}
	if !ownHeartbeat {
		h = l.brokerValue("group." + heartbeat)
	}
	if (ownSession || ownHeartbeat) && s.Int <= h.Int {
		return &InvalidError{session + " must be greater than " + heartbeat}
	}
	return nil
}

// DescribeGroup describes every key of a group with the given own values, by name.
func (r *Resolver) DescribeGroup(img *meta.Image, own map[string]string) []Entry {
	l := r.resolve(img).layers
	entries := make([]Entry, 0, len(keys().groupSorted))
	for _, k := range keys().groupSorted {
		v := l.groupValue(own, k)
		e := Entry{Name: k.Name, Value: &v.Text, Type: k.Type, Doc: k.Doc}
		if _, set := own[k.Name]; set {
			e.Synonyms = append(e.Synonyms, Synonym{k.Name, &v.Text, SourceGroup})
		}
		e.Synonyms = append(e.Synonyms, l.synonyms(k.Synonyms[0])...)
		e.takeSource()
		entries = append(entries, e)
	}
	return entries
}
