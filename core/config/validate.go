package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckTopic says what is wrong with the own values of a topic, in Kafka's words
// and order: names first, then values, then what does not go together. The
// defaults beside them are the keys'.
func CheckTopic(values map[string]string) error { return checkTopic(values, nil) }

// checkTopic is CheckTopic with defaults that may come from the broker.
func checkTopic(values map[string]string, defaults map[string]Value) error {
	c := keys()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if c.topicByName[name] == nil {
			return &InvalidError{"Unknown topic config name: " + name}
		}
	}
	effective := make(map[string]Value, len(values))
	for i := range c.topic {
		k := &c.topic[i]
		text, own := values[k.Name]
		if !own {
			continue
		}
		v, err := k.Parse(text)
		if err != nil {
			return err
		}
		effective[k.Name] = v
	}
	return checkTogether(func(name string) Value {
		if v, ok := effective[name]; ok {
			return v
		}
		if v, ok := defaults[name]; ok {
			return v
		}
		v, _ := c.topicByName[name].Parse(c.topicByName[name].Default) // defaults are right
		return v
	})
}

// checkTogether says which values of a topic contradict each other.
func checkTogether(value func(name string) Value) error {
	low, high := value("min.compaction.lag.ms").Int, value("max.compaction.lag.ms").Int
	if low > high {
		return &InvalidError{fmt.Sprintf(
			"conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", low, high)}
	}
	if value("remote.storage.enable").Bool {
		return &InvalidError{"Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."}
	}
	return nil
}

// CheckBroker says all that is wrong with broker keys from a config file: each by
// itself, and if they are right, together.
func CheckBroker(values map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := CheckBrokerKey(name, values[name]); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = CheckBrokerTogether(values)
	}
	return errors.Join(errs...)
}

// CheckBrokerKey says what is wrong with a broker key and its value by themselves.
func CheckBrokerKey(name, value string) error {
	k, ok := LookupBroker(name)
	if !ok {
		return &InvalidError{"unknown broker key " + name}
	}
	_, err := k.Parse(value)
	return err
}

// CheckBrokerTogether says which broker keys contradict each other, as Kafka does when
// it starts: limits and defaults of groups, a session that ends before the next
// heartbeat is due, and time-outs of replication. Each is right by itself. Every error names the keys.
func CheckBrokerTogether(own map[string]string) (errs []error) {
	values := Static(own)
	l := layers{static: &values}
	number := func(name string) int64 { return l.brokerValue(name).Int }
	for i := range keys().group {
		k := &keys().group[i]
		least, most := l.limits(k)
		def := number(k.Synonyms[0])
		for _, c := range []struct {
			ok   bool
			text string
		}{
			{most >= least, k.most + " must be greater than or equal to " + k.least},
			{def >= least, k.Synonyms[0] + " must be greater than or equal to " + k.least},
			{def <= most, k.Synonyms[0] + " must be less than or equal to " + k.most},
		} {
			if !c.ok {
				errs = append(errs, &InvalidError{c.text})
			}
		}
	}
	const session, heartbeat = "group.consumer.session.timeout.ms", "group.consumer.heartbeat.interval.ms"
	if number(heartbeat) >= number(session) {
		errs = append(errs, &InvalidError{heartbeat + " must be less than " + session})
	}
	return append(errs, checkReplicationTogether(number)...)
}

// CheckDynamic says what is wrong with the dynamic values of a broker, or of all
// brokers. As in Kafka, names that nobody knows are let through; names of Kafka's
// that this broker does not have are refused like those that need a restart,
// because accepting them would promise something.
func CheckDynamic(values map[string]string) error {
	c := keys()
	var fixed []string
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		if k := c.brokerByName[name]; k != nil && k.ReadOnly || k == nil && foreign(name) {
			fixed = append(fixed, name)
		}
	}
	if len(fixed) > 0 {
		return &InvalidError{"Cannot update these configs dynamically: [" + strings.Join(fixed, ", ") + "]"}
	}
	for _, name := range names {
		if k := c.brokerByName[name]; k != nil {
			if _, err := k.Parse(values[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// foreign reports whether a name that is no key of ours is one of Kafka's, by the
// subjects of Kafka's keys.
func foreign(name string) bool {
	subjects := [...]string{
		"add.partitions.", "advertised.", "alter.", "authorizer.", "auto.", "background.", "broker.", "client.quota.",
		"config.providers", "connection", "control", "cordoned.", "create.topic.", "delegation.", "delete.", "early.",
		"errors.", "fetch.", "follower.", "group.", "initial.", "inter.broker.", "kafka.", "leader.", "listener", "log.",
		"max.", "metadata.", "metric", "node.id", "num.", "offset", "password.", "principal.", "process.roles",
		"producer.", "queued.", "quota.", "remote.", "replica", "request.timeout.ms", "reserved.", "sasl.", "security.",
		"share.", "socket.", "ssl.", "telemetry.", "transaction", "unstable.", "zookeeper.",
	}
	return slices.ContainsFunc(subjects[:], func(s string) bool { return strings.HasPrefix(name, s) })
}
