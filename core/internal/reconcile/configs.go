package reconcile

import (
	"maps"
	"strconv"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// configs derives the configurations of topics. Topics without values of their
// own share one.
type configs struct {
	resolver *config.Resolver
	self     kafka.BrokerID
	defaults *partition.Config

	expiration int64 // producer.id.expiration.ms
}

// brokerResources are what a topic's defaults come from.
func (c *configs) brokerResources() [2]meta.Resource {
	return [2]meta.Resource{
		{Type: meta.ResourceBroker},
		{Type: meta.ResourceBroker, Name: strconv.Itoa(int(c.self))},
	}
}

// turn looks at the change from old (nil: the first) to next, and returns a
// function that says whether a topic's configuration changed. all: each one's did.
func (c *configs) turn(old, next *meta.Image) (changed func(topic string) bool, all bool) {
	every := func(string) bool { return true }
	if old == nil {
		c.forget(next)
		return every, true
	}
	for _, b := range c.brokerResources() {
		if !maps.Equal(old.Config(b), next.Config(b)) {
			c.forget(next)
			return every, true
		}
	}
	return func(topic string) bool {
		t := meta.Resource{Type: meta.ResourceTopic, Name: topic}
		was, is := old.Config(t), next.Config(t)
		return (was != nil || is != nil) && !maps.Equal(was, is)
	}, false
}

// forget drops what was derived from an older image's broker values.
func (c *configs) forget(img *meta.Image) {
	c.defaults = nil
	c.expiration = c.resolver.Broker(img, c.self).ProducerIDExpirationMS
}

// of is the configuration of a topic.
func (c *configs) of(img *meta.Image, topic string) *partition.Config {
	if len(img.Config(meta.Resource{Type: meta.ResourceTopic, Name: topic})) > 0 {
		return partition.NewConfig(c.resolver.Topic(img, topic), c.expiration)
	}
	if c.defaults == nil {
		c.defaults = partition.NewConfig(c.resolver.Topic(img, topic), c.expiration)
	}
	return c.defaults
}
