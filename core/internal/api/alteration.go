package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// operation is what happens to one key, by the protocol's numbers.
type operation int8

// The operations.
const (
	opSet      operation = 0
	opDelete   operation = 1
	opAppend   operation = 2
	opSubtract operation = 3
)

// String is Kafka's word for an operation that only lists, or only other resources,
// have.
func (o operation) String() string {
	switch o {
	case opSet:
		return "SET"
	case opDelete:
		return "DELETE"
	case opAppend:
		return "APPEND"
	case opSubtract:
		return "SUBTRACT"
	}
	return "Unknown operation type " + strconv.Itoa(int(o))
}

// alteration is one key of a change.
type alteration struct {
	name  string
	op    operation
	value *string
}

// checkAlterations finds keys that are there twice, and values that are missing.
func checkAlterations(keys []alteration) *kafka.Error {
	var missing []string
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		if seen[k.name] {
			return kafka.ErrInvalidRequest.Err("Error due to duplicate config keys")
		}
		seen[k.name] = true
		if k.op != opDelete && k.value == nil {
			missing = append(missing, k.name)
		}
	}
	if len(missing) > 0 {
		return kafka.ErrInvalidRequest.Err("Null value not supported for : " + strings.Join(missing, ", "))
	}
	return nil
}

// altered applies the operations to the values that are there.
func altered(c *alter, previous map[string]string) (map[string]string, *kafka.Error) {
	values := map[string]string{}
	if !c.replace {
		maps.Copy(values, previous)
	}
	for _, k := range c.keys {
		switch k.op {
		case opSet:
			values[k.name] = *k.value
		case opDelete:
			delete(values, k.name)
		case opAppend, opSubtract:
			key, list := config.LookupList(scope(c.resource.Type), k.name)
			if !list {
				return nil, kafka.ErrInvalidConfig.Err("Can't " + k.op.String() + " to key " + k.name + " because its type is not LIST.")
			}
			values[k.name] = alteredList(&key, k, values)
		default:
			return nil, kafka.ErrInvalidRequest.Err("Unknown operations type " + strconv.Itoa(int(k.op)))
		}
	}
	return values, nil
}

// scope is whose keys a type of resource has.
func scope(t meta.ResourceType) config.Scope {
	switch t {
	case meta.ResourceBroker:
		return config.BrokerScope
	case meta.ResourceGroup:
		return config.GroupScope
	case meta.ResourceClientMetrics:
		return config.ClientMetricsScope
	}
	return config.TopicScope
}

// alteredList adds elements to a list, or takes them out of it. A list that is not
// set starts as the key's default.
func alteredList(key *config.Key, k alteration, values map[string]string) string {
	present, set := values[k.name]
	if !set {
		present = key.Default
	}
	list := strings.FieldsFunc(present, func(c rune) bool { return c == ',' })
	for _, e := range strings.Split(*k.value, ",") {
		at := slices.Index(list, e)
		switch {
		case k.op == opAppend && at < 0:
			list = append(list, e)
		case k.op == opSubtract && at >= 0:
			list = slices.Delete(list, at, at+1)
		}
	}
	return strings.Join(list, ",")
}
