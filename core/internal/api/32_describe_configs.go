package api

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// DescribeConfigs (key 32), versions 1–4.
//
// Behaviour: topics, this broker and the levels of its loggers, the dynamic defaults
// of all brokers, groups, and subscriptions to the metrics of clients, with sources
// and, if asked for, synonyms and documentation. No names, or an empty list of them,
// means all; names that do not exist are left out. Groups and subscriptions need not
// exist: those that do not have defaults.
//
// Not done: the keys of share and streams groups are not shown, because there are no
// such groups here.

// describeConfigs answers key 32.
func (a *API) describeConfigs(r *wire.Request) {
	q := new(kmsg.DescribeConfigsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	// Many topics with all of their keys take a while, and an earlier change of the
	// same connection must be seen: behind it, not beside it.
	a.later(r, func(context.Context) {
		resp := (&describeConfigsCall{a: a, r: r, q: q, img: a.image()}).run()
		if resp == nil {
			r.Drop(errTooMuch)
			return
		}
		r.ReplyMessage(resp)
	})
}

// maxDescribed bounds the entries of one answer, some 200 bytes each: 25,000 topics
// with all of their keys. A request of 650 KB that named one topic 100,000 times was
// answered with 235 MB, out of 1.7 GB of memory.
const maxDescribed = 1_000_000

// describeConfigsCall is one request being answered.
type describeConfigsCall struct {
	a   *API
	r   *wire.Request
	q   *kmsg.DescribeConfigsRequest
	img *meta.Image
}

// run describes all resources. A type that Kafka does not know refuses them all. It
// is nil when the answer would be too large.
func (c *describeConfigsCall) run() *kmsg.DescribeConfigsResponse {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	unknown := slices.ContainsFunc(c.q.Resources, func(q kmsg.DescribeConfigsRequestResource) bool {
		return !describable(meta.ResourceType(q.ResourceType))
	})
	total := 0
	for i := range c.q.Resources {
		q := &c.q.Resources[i]
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = q.ResourceType, q.ResourceName
		var entries []config.Entry
		why := kafka.ErrInvalidRequest.Err(kafka.ErrInvalidRequest.Text())
		if !unknown {
			entries, why = c.describe(q)
		}
		out.ErrorMessage = kmsg.StringPtr("")
		if why != nil {
			out.ErrorCode, out.ErrorMessage = c.a.code(c.r, why), &why.Message
		}
		out.Configs = c.shown(entries, q.ConfigNames)
		if total += len(out.Configs); total > maxDescribed {
			return nil
		}
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// describable says whether a type of resource can have configs.
func describable(t meta.ResourceType) bool {
	switch t {
	case meta.ResourceTopic, meta.ResourceBroker, meta.ResourceBrokerLogger, meta.ResourceClientMetrics, meta.ResourceGroup:
		return true
	}
	return false
}

// describe finds the entries of one resource.
func (c *describeConfigsCall) describe(q *kmsg.DescribeConfigsRequestResource) ([]config.Entry, *kafka.Error) {
	name := q.ResourceName
	switch meta.ResourceType(q.ResourceType) {
	case meta.ResourceTopic:
		return c.topic(name)
	case meta.ResourceGroup:
		if !c.a.authorize(c.r, OpDescribeConfigs, ResourceGroup, name) {
			return nil, kafka.ErrGroupAuthorizationFailed.Err("Group authorization failed.")
		}
		return c.group(name)
	}
	if !c.a.authorizeCluster(c.r, OpDescribeConfigs) {
		return nil, kafka.ErrClusterAuthorizationFailed.Err(kafka.ErrClusterAuthorizationFailed.Text())
	}
	switch meta.ResourceType(q.ResourceType) {
	case meta.ResourceBroker:
		return c.broker(name)
	case meta.ResourceBrokerLogger:
		return c.loggers(name)
	}
	if name == "" {
		return nil, kafka.ErrInvalidRequest.Err("Client metrics subscription name must not be empty")
	}
	return config.DescribeClientMetrics(c.img.Config(meta.Resource{Type: meta.ResourceClientMetrics, Name: name})), nil
}

// group describes a group.
func (c *describeConfigsCall) group(name string) ([]config.Entry, *kafka.Error) {
	if name == "" {
		return nil, kafka.ErrInvalidRequest.Err("Group name must not be empty")
	}
	own := c.img.Config(meta.Resource{Type: meta.ResourceGroup, Name: name})
	return c.a.deps.Config().DescribeGroup(c.img, own), nil
}

// loggers describes the levels of this broker's loggers.
func (c *describeConfigsCall) loggers(name string) ([]config.Entry, *kafka.Error) {
	if name == "" {
		return nil, kafka.ErrInvalidRequest.Err("Broker id must not be empty")
	}
	if why := c.checkSelf(name, "Unexpected broker id, expected %s but received %s"); why != nil {
		return nil, why
	}
	return c.a.loggers(), nil
}

// topic describes a topic.
func (c *describeConfigsCall) topic(name string) ([]config.Entry, *kafka.Error) {
	if !c.a.authorize(c.r, OpDescribeConfigs, ResourceTopic, name) {
		return nil, kafka.ErrTopicAuthorizationFailed.Err(kafka.ErrTopicAuthorizationFailed.Text())
	}
	if why := checkTopicName(name); why != nil {
		return nil, why
	}
	if _, exists := c.img.Topic(name); !exists {
		return nil, kafka.ErrUnknownTopicOrPartition.Err("")
	}
	own := c.img.Config(meta.Resource{Type: meta.ResourceTopic, Name: name})
	return c.a.deps.Config().DescribeTopic(c.img, own), nil
}

// broker describes this broker, or with an empty name what all have in common.
func (c *describeConfigsCall) broker(name string) ([]config.Entry, *kafka.Error) {
	if name == "" {
		return c.a.deps.Config().DescribeCluster(c.img), nil
	}
	if why := c.checkSelf(name, "Unexpected broker id, expected %s or empty string, but received %s"); why != nil {
		return nil, why
	}
	return c.a.deps.Config().DescribeBroker(c.img, c.a.facts(c.img)), nil
}

// checkSelf wants the id of this broker. format is the text for another one's.
func (c *describeConfigsCall) checkSelf(name, format string) *kafka.Error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return kafka.ErrInvalidRequest.Err("Broker id must be an integer, but it is: " + name)
	}
	if self := strconv.Itoa(int(c.a.deps.Self)); kafka.BrokerID(id) != c.a.deps.Self {
		return kafka.ErrInvalidRequest.Err(strings.Replace(strings.Replace(format, "%s", self, 1), "%s", name, 1))
	}
	return nil
}

// facts are what this broker says of itself.
func (a *API) facts(img *meta.Image) config.Facts {
	self := strconv.Itoa(int(a.deps.Self))
	facts := config.Facts{"node.id": self, "broker.id": self, "process.roles": "broker,controller"}
	if a.deps.Dirs != nil {
		var dirs []string
		for _, d := range a.deps.Dirs.Dirs() {
			dirs = append(dirs, d.Path)
		}
		facts["log.dirs"] = strings.Join(dirs, ",")
	}
	b, ok := img.Broker(a.deps.Self)
	if !ok {
		return facts
	}
	var listeners []string
	for _, e := range b.Endpoints {
		listeners = append(listeners, e.Listener+"://"+e.Host+":"+strconv.Itoa(int(e.Port)))
	}
	facts["advertised.listeners"] = strings.Join(listeners, ",")
	if b.Rack != "" {
		facts["broker.rack"] = b.Rack
	}
	return facts
}

// shown are the entries that are asked for, as they are asked for.
func (c *describeConfigsCall) shown(entries []config.Entry, names []string) []kmsg.DescribeConfigsResponseResourceConfig {
	var wanted map[string]bool
	if len(names) > 0 {
		wanted = make(map[string]bool, len(names))
		for _, name := range names {
			wanted[name] = true
		}
	}
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for i := range entries {
		e := &entries[i]
		if wanted != nil && !wanted[e.Name] {
			continue
		}
		s := kmsg.NewDescribeConfigsResponseResourceConfig()
		s.Name, s.Value, s.ReadOnly, s.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
		s.Source, s.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
		if c.q.IncludeSynonyms {
			s.ConfigSynonyms = synonyms(e.Synonyms)
		}
		if c.q.IncludeDocumentation || e.Source == config.SourceLogger { // as Kafka, whose loggers have an empty one
			s.Documentation = &e.Doc
		}
		out = append(out, s)
	}
	return out
}

// synonyms turns synonyms into their form on the wire.
func synonyms(all []config.Synonym) []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	out := make([]kmsg.DescribeConfigsResponseResourceConfigConfigSynonym, len(all))
	for i, s := range all {
		out[i] = kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: s.Name, Value: s.Value, Source: kmsg.ConfigSource(s.Source)}
	}
	return out
}
