package metadata

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Bounds of what is named of one command: how many subjects, and how many bytes of each,
// because a client may send long names that are refused.
const (
	subjectsMax  = 20
	subjectBytes = 300
)

// Subjects say what a command that somebody asks for is about, for a log: its name and
// whom or what it changes, without the values, which may be secrets. No name: it is no
// change that people make.
func Subjects(c Command) (name string, about []string) {
	switch c := c.(type) {
	case *CreateTopics:
		return "create topics", named(c.Topics, func(t NewTopic) string { return t.Name })
	case *DeleteTopics:
		return "delete topics", named(c.IDs, kafka.TopicID.String)
	case *CreatePartitions:
		return "create partitions", named(c.Topics, func(t NewPartitions) string { return t.Topic })
	case *AlterConfigs:
		return "alter configs", named(c.Changes, func(r ConfigChange) string { return configured(r.Type, r.Name) })
	case *UpdateFeatures:
		return "update features", named(c.Updates, func(u FeatureUpdate) string { return u.Name })
	case *CreateACLs:
		return "create acls", named(c.Rules, func(r ACL) string { return fmt.Sprintf("%s on %s %s", r.Principal, r.Resource, r.Name) })
	case *DeleteACLs:
		return "delete acls", nil
	case *AlterPlugins:
		return "alter plugins", named(c.Changes, func(p PluginChange) string { return p.Name })
	case *ElectLeaders:
		return "elect leaders", named(c.Partitions, func(p PartitionID) string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) })
	case *AlterReassignments:
		return "alter reassignments", named(c.Changes, func(r Reassignment) string { return fmt.Sprintf("%s-%d", r.Topic, r.Partition) })
	case *UnregisterBroker:
		return "unregister broker", []string{fmt.Sprint(c.ID)}
	}
	return "", nil
}

// configured names what configs belong to.
func configured(t meta.ResourceType, name string) string {
	switch {
	case t == meta.ResourceBroker && name == "":
		return "all brokers"
	case t == meta.ResourceBroker:
		return "broker " + name
	case t == meta.ResourceTopic:
		return "topic " + name
	case t == meta.ResourceGroup:
		return "group " + name
	case t == meta.ResourceClientMetrics:
		return "client metrics " + name
	}
	return fmt.Sprintf("resource of type %d %s", t, name)
}

// named are the names of the first subjectsMax of a list, and how many follow.
func named[T any](list []T, name func(T) string) []string {
	all := mapped(list[:min(len(list), subjectsMax)], func(one T) string {
		text := name(one)
		return text[:min(len(text), subjectBytes)]
	})
	if more := len(list) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return all
}

// Refused counts the parts of a command that were refused.
func (r *Result) Refused() (n int) {
	if r.Err != nil {
		n++
	}
	for _, err := range r.Errors {
		if err != nil {
			n++
		}
	}
	for _, t := range r.Topics {
		if t.Err != nil {
			n++
		}
	}
	return n
}
