package consensus

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// The Control of brokertest is the obvious twin of this one: what tests of the
// broker see decided there must be what a cluster decides. Both get the same random
// requests, and must give the same answers and, but for topic ids, the same images.
func TestDecidesAsTheTwinDoes(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			group, twin := open(t, ""), brokertest.NewControl("c")
			if err := group.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 3 { // restarts, clean and not
				r := meta.Registration{ID: 1, Rack: "r", CleanShutdown: random.IntN(2) == 0,
					Endpoints:   []meta.Endpoint{{Listener: "L", Host: "h", Port: 9}},
					ProducerIDs: kafka.ProducerID(random.IntN(20_000))}
				_, err1 := group.RegisterBroker(t.Context(), r)
				_, err2 := twin.RegisterBroker(t.Context(), r)
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
				for range 60 {
					ask := anyRequest(random)
					a, b := ask.of(t, group), ask.of(t, twin)
					if a != b {
						t.Fatalf("%s:\n%s\nthe twin says\n%s", ask.what, a, b)
					}
					if a, b := picture(group.Image()), picture(twin.Image()); a != b {
						t.Fatalf("after %s the image is\n%s\nthe twin's is\n%s", ask.what, a, b)
					}
				}
			}
		})
	}
}

// request is something to decide; of returns the answer as text.
type request struct {
	what string
	of   func(t *testing.T, c meta.Control) string
}

// anyRequest makes a request about few names, so that many are refused.
func anyRequest(random *rand.Rand) request {
	var names []string
	for range 1 + random.IntN(3) {
		names = append(names, string(rune('a'+random.IntN(4))))
	}
	count, dry := int32(1+random.IntN(4)), random.IntN(4) == 0
	factor := int16(1 + random.IntN(8)/7) // seldom too many
	level := int16(random.IntN(3))
	what := fmt.Sprintf("%v, %d partitions on %d, level %d, validate only %v", names, count, factor, level, dry)
	return []request{
		{"create " + what, func(t *testing.T, c meta.Control) string { return askCreate(t, c, names, count, factor, dry) }},
		{"delete " + what, func(t *testing.T, c meta.Control) string { return askDelete(t, c, names) }},
		{"grow " + what, func(t *testing.T, c meta.Control) string { return askGrow(t, c, names, count, dry) }},
		{"configure " + what, func(t *testing.T, c meta.Control) string { return askConfigure(t, c, names, count, dry) }},
		{"features " + what, func(t *testing.T, c meta.Control) string { return askFeatures(t, c, level, dry) }},
		{"producer ids", func(t *testing.T, c meta.Control) string {
			block, err := c.AllocateProducerIDs(t.Context())
			return fmt.Sprint(block, err)
		}},
		{"allow " + what, func(t *testing.T, c meta.Control) string {
			return fmt.Sprint(c.CreateACLs(t.Context(), rulesOf(names)))
		}},
		{"disallow " + what, func(t *testing.T, c meta.Control) string { return askDisallow(t, c, names) }},
		{"plug " + what, func(t *testing.T, c meta.Control) string { return askPlugins(t, c, names, dry) }},
	}[random.IntN(9)]
}

// askPlugins changes entries, half of the time as somebody who has not seen them.
func askPlugins(t *testing.T, c meta.Control, names []string, blind bool) string {
	var changes []meta.PluginChange
	for n, name := range names {
		change := meta.PluginChange{Name: name, Spec: strings.Repeat("{}", n%2)}
		if entry, ok := c.Image().Plugin(name); ok && !blind {
			change.Previous = entry.Changed
		}
		changes = append(changes, change)
	}
	errs, err := c.AlterPlugins(t.Context(), changes)
	return errorTexts(errs, err)
}

// rulesOf lets everybody read the topics.
func rulesOf(names []string) []auth.Rule {
	var rules []auth.Rule
	for _, name := range names {
		rules = append(rules, auth.Rule{Resource: auth.Topic, Name: name, Pattern: auth.Literal, Principal: "User:*", Host: "*",
			Operation: auth.OpRead, Permission: auth.PermissionAllow})
	}
	return rules
}

func askDisallow(t *testing.T, c meta.Control, names []string) string {
	var filters []meta.ACLFilter
	for _, name := range names {
		filters = append(filters, meta.ACLFilter{Resource: auth.AnyResource, Name: &name, Pattern: meta.AnyPattern,
			Operation: auth.OpAny, Permission: meta.AnyPermission})
	}
	gone, err := c.DeleteACLs(t.Context(), filters)
	return fmt.Sprint(gone, err)
}

func askCreate(t *testing.T, c meta.Control, names []string, count int32, factor int16, dry bool) string {
	var topics []meta.NewTopic
	for _, name := range names {
		topics = append(topics, meta.NewTopic{Name: name, PartitionCount: count, ReplicationFactor: factor,
			Configs: map[string]string{"retention.ms": fmt.Sprint(count)}})
	}
	results, err := c.CreateTopics(t.Context(), topics, dry)
	out := fmt.Sprintln(err)
	for _, r := range results {
		out += fmt.Sprintln(errorText(r.Err), r.Topic != nil)
		if r.Topic != nil {
			out += fmt.Sprintln(r.Topic.Name, r.Topic.ID != kafka.NoTopicID, r.Topic.Partitions)
		}
	}
	return out
}

func askDelete(t *testing.T, c meta.Control, names []string) string {
	var ids []kafka.TopicID
	for _, name := range names {
		id := kafka.TopicID{1} // nobody's
		if topic, ok := c.Image().Topic(name); ok {
			id = topic.ID
		}
		ids = append(ids, id)
	}
	errs, err := c.DeleteTopics(t.Context(), ids)
	return errorTexts(errs, err)
}

func askGrow(t *testing.T, c meta.Control, names []string, count int32, dry bool) string {
	var grown []meta.NewPartitions
	for _, name := range names {
		grown = append(grown, meta.NewPartitions{Topic: name, Count: count})
	}
	errs, err := c.CreatePartitions(t.Context(), grown, dry)
	return errorTexts(errs, err)
}

func askConfigure(t *testing.T, c meta.Control, names []string, count int32, dry bool) string {
	var changes []meta.ConfigChange
	for n, name := range names {
		r := meta.Resource{Type: meta.ResourceTopic, Name: name}
		change := meta.ConfigChange{Resource: r, Previous: c.Image().Config(r), Values: map[string]string{"retention.ms": fmt.Sprint(n)}}
		if count == 1 {
			change.Previous = map[string]string{"retention.ms": "another"}
		}
		changes = append(changes, change)
	}
	errs, err := c.AlterConfigs(t.Context(), changes, dry)
	return errorTexts(errs, err)
}

func askFeatures(t *testing.T, c meta.Control, level int16, dry bool) string {
	known := meta.SupportedFeatures()[0]
	errs, err := c.UpdateFeatures(t.Context(), []meta.FeatureUpdate{
		{Name: known.Name, Level: known.Max - level, Downgrade: meta.SafeDowngrade},
		{Name: []string{known.Name, "no.such.feature"}[level/2], Level: known.Max - level, Downgrade: meta.UpgradeOnly},
	}, dry)
	return errorTexts(errs, err)
}

func errorText(err *kafka.Error) string {
	if err == nil {
		return "done"
	}
	return fmt.Sprintf("%s %q", err.Code, err.Message)
}

func errorTexts(errs []*kafka.Error, err error) string {
	out := fmt.Sprintln(err)
	for _, e := range errs {
		out += errorText(e) + "\n"
	}
	return out
}

// picture is an image without what may differ: ids, indexes and the cluster's name.
func picture(i *meta.Image) string {
	var lines []string
	for topic := range i.Topics() {
		lines = append(lines, fmt.Sprint("topic ", topic.Name, topic.Partitions))
	}
	for r := range i.ConfigResources() {
		lines = append(lines, fmt.Sprint("config ", r, i.Config(r)))
	}
	for b := range i.Brokers() {
		lines = append(lines, fmt.Sprint("broker ", b.ID, b.Rack, b.Endpoints, b.Fenced, b.ShuttingDown, b.Peer, b.MinISR, b.Unclean))
	}
	for p := range i.Plugins() {
		lines = append(lines, fmt.Sprint("plugin ", p.Name, p.Spec))
	}
	for r := range i.ACLs() {
		lines = append(lines, fmt.Sprint("rule ", r))
	}
	lines = append(lines, fmt.Sprint("features ", i.Features()), fmt.Sprint("next producer id ", i.NextProducerID))
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Both must watch alike too: at once, and after each change.
func TestWatchAsTheTwinDoes(t *testing.T) {
	group, twin := open(t, ""), brokertest.NewControl("c")
	if err := group.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := func(c meta.Control) []int64 {
		images := make(chan *meta.Image, 10)
		stop := c.Watch(func(i *meta.Image) { images <- i })
		defer stop()
		first := (<-images).NextProducerID
		if _, err := c.AllocateProducerIDs(t.Context()); err != nil {
			t.Fatal(err)
		}
		return []int64{int64(first), int64((<-images).NextProducerID)}
	}
	if a, b := seen(group), seen(twin); !reflect.DeepEqual(a, b) {
		t.Errorf("watched %v, the twin %v", a, b)
	}
}
