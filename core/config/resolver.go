package config

import (
	"maps"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Static are broker keys from the config file.
type Static map[string]string

// Resolver derives effective values from the config file and an image. It is
// safe for concurrent use; only SetStatic changes what it answers.
type Resolver struct {
	self   kafka.BrokerID
	static atomic.Pointer[Static]
	cached atomic.Pointer[resolved]
}

// NewResolver makes a resolver for a config file's keys, which CheckBroker has
// passed. It copies them. Without For it works for no broker: dynamic values of
// single brokers do not count.
func NewResolver(static Static) *Resolver {
	r := &Resolver{self: kafka.NoBroker}
	own := Static(maps.Clone(static))
	r.static.Store(&own)
	return r
}

// For makes the resolver work for a broker and returns it. Call it before anybody
// else knows the resolver.
func (r *Resolver) For(self kafka.BrokerID) *Resolver {
	r.self = self
	return r
}

// Static is the config file's layer as it counts now. The caller must not change
// it.
func (r *Resolver) Static() Static { return *r.static.Load() }

// SetStatic takes over a config file that changed: keys that are Live count from
// now on, the others stay as they were. It returns the names of those that differ
// and wait for a restart.
//
// Readers never see a mixture: a snapshot is of one file or of the other.
func (r *Resolver) SetStatic(static Static) (pending []string) {
	for {
		old := r.static.Load()
		next, pending := merged(*old, static)
		if r.static.CompareAndSwap(old, &next) {
			return pending
		}
	}
}

// merged is the file that counts after a reload: next for keys that are live, old
// for the others, of which it names those that differ.
func merged(old, static Static) (next Static, pending []string) {
	next = Static{}
	c := keys()
	for _, k := range c.brokerSorted {
		value, set := static[k.Name]
		was, had := old[k.Name]
		if !k.Live && (set != had || value != was) {
			pending = append(pending, k.Name)
			value, set = was, had
		}
		if set {
			next[k.Name] = value
		}
	}
	return next, pending
}

// resolved is what was derived for one state of the layers.
type resolved struct {
	layers   layers
	image    *meta.Image // the newest one with these layers
	broker   *Broker
	topic    *Topic           // of topics without own values
	group    Group            // of groups without own values
	defaults map[string]Value // of topics, by topic key
	// described are the entries of topics without own values. Nobody changes them.
	described func() []Entry
}

// layers are the sources of broker values, highest first. The maps are not
// changed by anybody.
type layers struct {
	own      map[string]string // of this broker, dynamic
	cluster  map[string]string // of all brokers, dynamic
	static   *Static
	defaults map[string]string // that differ from the keys' own
}

// same reports whether two states of the layers are the same. An image shares
// unchanged maps with the one before, so that looking at their identity is enough.
func (l *layers) same(o *layers) bool {
	return l.static == o.static && sameMap(l.own, o.own) && sameMap(l.cluster, o.cluster)
}

// sameMap compares the identity of maps.
func sameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// layersOf finds the sources for a broker.
func (r *Resolver) layersOf(img *meta.Image, self kafka.BrokerID) layers {
	return layers{
		own:     img.Config(meta.Resource{Type: meta.ResourceBroker, Name: strconv.Itoa(int(self))}),
		cluster: img.Config(meta.Resource{Type: meta.ResourceBroker}),
		static:  r.static.Load(),
	}
}

// resolve derives what the layers of an image mean here, or finds it done.
//
// Hot: 0 allocs while nothing changes.
func (r *Resolver) resolve(img *meta.Image) *resolved {
	old := r.cached.Load()
	if old != nil && old.image == img && old.layers.static == r.static.Load() {
		return old
	}
	l := r.layersOf(img, r.self)
	if old != nil && old.layers.same(&l) {
		next := *old
		next.image = img
		r.cached.Store(&next)
		return &next
	}
	next := derive(l)
	next.image = img
	r.cached.Store(next)
	return next
}

// derive works out the values of broker and topics from the layers.
func derive(l layers) *resolved {
	l.defaults = durableDefaults(&l)
	d := &resolved{layers: l, broker: newBroker(l.brokerValue), defaults: map[string]Value{}}
	for i := range keys().topic {
		k := &keys().topic[i]
		if v, ok := l.topicDefault(k); ok {
			d.defaults[k.Name] = v
		}
	}
	d.topic = newTopic(func(name string) Value { return d.defaults[name] })
	d.group = newGroup(func(name string) Value { return l.brokerValue(keys().groupByName[name].Synonyms[0]) })
	d.described = sync.OnceValue(d.describeTopic)
	return d
}

// durableDefaults are the defaults that mortise.durability changes.
func durableDefaults(l *layers) map[string]string {
	if l.brokerValue(DurabilityKey).Text == DurabilityFsync {
		return map[string]string{"log.flush.interval.messages": "1"}
	}
	return nil
}

// brokerValue is the effective value of a broker key: the first source whose
// value is right. A key without any has the zero Value.
func (l *layers) brokerValue(name string) Value {
	k := keys().brokerByName[name]
	v, _ := l.find(k)
	return v
}

// find is brokerValue; ok says whether there is a value at all.
func (l *layers) find(k *Key) (v Value, ok bool) {
	for _, source := range [...]map[string]string{l.own, l.cluster, *l.static, l.defaults} {
		text, set := source[k.Name]
		if !set {
			continue
		}
		if v, err := k.Parse(text); err == nil {
			return v, true
		}
	}
	if k.NullDefault {
		return Value{}, false
	}
	v, err := parse(k.Name, k.Type, k.Default)
	return v, err == nil
}

// topicDefault is the value of a topic key for topics that have none of their own.
func (l *layers) topicDefault(k *Key) (v Value, ok bool) {
	for _, name := range k.Synonyms {
		synonym := keys().brokerByName[name]
		v, ok := l.find(synonym)
		if !ok {
			continue
		}
		if synonym.scale > 1 && v.Int > 0 { // -1 is no time, but its absence
			v.Int *= synonym.scale // whole hours in an int32: no overflow
			v.Text = strconv.FormatInt(v.Int, 10)
		}
		return v, true
	}
	if k.NullDefault {
		return Value{}, false
	}
	v, err := parse(k.Name, k.Type, k.Default)
	return v, err == nil
}

// Broker is the effective configuration of a broker. That of the resolver's own is
// kept, that of another is worked out with each call.
//
// Hot: 0 allocs while nothing changes.
func (r *Resolver) Broker(img *meta.Image, id kafka.BrokerID) *Broker {
	if id != r.self {
		return derive(r.layersOf(img, id)).broker
	}
	return r.resolve(img).broker
}

// Topic is the effective configuration of a topic on the resolver's broker. Topics
// without own values share one; for the others it is made anew with each call.
func (r *Resolver) Topic(img *meta.Image, topic string) *Topic {
	d := r.resolve(img)
	own := img.Config(meta.Resource{Type: meta.ResourceTopic, Name: topic})
	if len(own) == 0 {
		return d.topic
	}
	return newTopic(func(name string) Value { return d.topicValue(own, name) })
}

// topicValue is the value of a topic key for a topic with own values.
func (d *resolved) topicValue(own map[string]string, name string) Value {
	if text, set := own[name]; set {
		if v, err := keys().topicByName[name].Parse(text); err == nil {
			return v
		}
	}
	return d.defaults[name]
}

// CheckTopic is the function of that name with the defaults of the resolver's
// broker.
func (r *Resolver) CheckTopic(img *meta.Image, values map[string]string) error {
	return checkTopic(values, r.resolve(img).defaults)
}
