package telemetry

import (
	"cmp"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/meta"
)

// defaultIntervalMS is how often clients ask again that no subscription is for; a
// subscription can only make it less.
const defaultIntervalMS = 5 * 60 * 1000

// subscription is one of the cluster's.
type subscription struct {
	name string
	own  map[string]string // the values it was made of
	config.ClientMetrics
}

// subscriptions are those of an image, in Kafka's order of names.
func subscriptions(img *meta.Image) (all []subscription) {
	for r := range img.ConfigResourcesOf(meta.ResourceClientMetrics) {
		s := subscription{name: r.Name, own: img.Config(r)}
		var err error
		if s.ClientMetrics, err = config.ParseClientMetrics(s.own); err == nil { // it was checked when it was set
			all = append(all, s)
		}
	}
	return hashOrder(all, func(s subscription) string { return s.name })
}

// same says whether subscriptions say the same as before.
func same(a, b []subscription) bool {
	return slices.EqualFunc(a, b, func(x, y subscription) bool { return x.name == y.name && maps.Equal(x.own, y.own) })
}

// wanted is what a client should push: the union of what matches it. The names are in
// Kafka's order, of which the id is made.
type wanted struct {
	metrics    []string
	intervalMS int32
	id         int32
}

// wantedOf joins the subscriptions that match a client.
func wantedOf(all []subscription, c *Client, id InstanceID) wanted {
	w := wanted{intervalMS: defaultIntervalMS}
	property := func(name string) (string, bool) { return c.property(name, id) }
	seen := map[string]bool{}
	everything := false
	for i := range all {
		s := &all[i]
		if !s.Matches(property) {
			continue
		}
		w.intervalMS = min(w.intervalMS, s.IntervalMS)
		everything = everything || slices.Contains(s.Metrics, config.AllClientMetrics)
		for _, name := range hashOrder(s.Metrics, itself) {
			if !seen[name] {
				seen[name] = true
				w.metrics = append(w.metrics, name)
			}
		}
	}
	if everything {
		w.metrics = []string{config.AllClientMetrics}
	}
	w.metrics = hashOrder(w.metrics, itself)
	text := "[" + strings.Join(w.metrics, ", ") + "]" + strconv.Itoa(int(w.intervalMS))
	w.id = int32(crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))) ^ id.hash()
	return w
}

func itself(s string) string { return s }

// hashOrder puts items in the order in which a hash table of Java's gives them: by
// bucket, within one as they came. Kafka keeps subscriptions and their metrics in such
// tables, and a subscription's id depends on it.
func hashOrder[T any](items []T, name func(T) string) []T {
	buckets := 16
	for len(items) > buckets/4*3 {
		buckets *= 2
	}
	bucket := func(item T) int {
		h := javaHash(name(item))
		return int(h^h>>16) & (buckets - 1)
	}
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(bucket(a), bucket(b)) })
	return sorted
}

// javaHash is what Java's hashCode is of a string.
func javaHash(s string) (h uint32) {
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(unit)
	}
	return h
}
