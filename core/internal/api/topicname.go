package api

import (
	"strings"
	"unicode/utf16"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// topicNameMax is the longest topic name.
const topicNameMax = 249

// clusterMetadataTopic is the name under which Kafka's quorum keeps its log. No
// topic can have it.
const clusterMetadataTopic = "__cluster_metadata"

// checkTopicName says why a name can't be a topic's, in Kafka's words; nil: it
// can. Such a name is also safe as part of a directory's name.
func checkTopicName(name string) *kafka.Error {
	why := badTopicName(name)
	if why == "" {
		return nil
	}
	return kafka.ErrInvalidTopic.Err("Topic name is invalid: " + why)
}

// badTopicName says what is wrong with a name; empty: nothing.
func badTopicName(name string) string {
	switch {
	case name == "":
		return "the empty string is not allowed"
	case name == ".", name == "..":
		return "'" + name + "' is not allowed"
	case len(utf16.Encode([]rune(name))) > topicNameMax: // Kafka counts as Java does
		return "the length of '" + name + "' is longer than the max allowed length 249"
	case strings.ContainsFunc(name, func(c rune) bool { return !topicLetter(c) }):
		return "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	}
	return ""
}

// topicLetter says whether a letter may stand in a topic name.
func topicLetter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// collisions finds topics whose names differ from others only in dots and
// underscores, which metric names can't tell apart. It looks through the image at
// most once, when the first such name is asked for.
type collisions struct {
	img   *meta.Image
	known map[string]string // normalized name → a topic's
}

// find finds the topic that a new name collides with; empty: none.
func (c *collisions) find(name string) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	if c.known == nil {
		c.known = map[string]string{}
		for t := range c.img.Topics() {
			if strings.ContainsAny(t.Name, "._") {
				c.known[normalized(t.Name)] = t.Name
			}
		}
	}
	return c.known[normalized(name)]
}

// normalized is the same for names that collide.
func normalized(name string) string { return strings.ReplaceAll(name, ".", "_") }
