package config

import (
	"testing"

	"github.com/mortisemq/mortise/core/meta"
)

// groupImage is an image in which group g has own values.
func groupImage(values map[string]string) *meta.Image {
	e := meta.Empty("c").Edit(1)
	e.SetConfig(meta.Resource{Type: meta.ResourceGroup, Name: "g"}, values)
	return e.Image()
}

// TestTypedGroup: the group's own value, then the broker's, within the limits.
func TestTypedGroup(t *testing.T) {
	plain := NewResolver(nil).For(1)
	file := NewResolver(Static{"group.consumer.session.timeout.ms": "50000", "group.consumer.min.session.timeout.ms": "48000"}).For(1)
	for _, c := range []struct {
		why  string
		r    *Resolver
		own  map[string]string
		name string
		want Group
	}{
		{"nothing set", plain, nil, "g", Group{45000, 5000, 1000}},
		{"the file's", file, nil, "g", Group{50000, 5000, 1000}},
		{"the group's own", plain, map[string]string{"consumer.session.timeout.ms": "46000", "consumer.heartbeat.interval.ms": "6000", "consumer.assignment.interval.ms": "0"}, "g", Group{46000, 6000, 0}},
		{"another group's", plain, map[string]string{"consumer.session.timeout.ms": "46000"}, "h", Group{45000, 5000, 1000}},
		{"below a limit that rose later", file, map[string]string{"consumer.session.timeout.ms": "46000"}, "g", Group{48000, 5000, 1000}},
		{"above a limit", plain, map[string]string{"consumer.heartbeat.interval.ms": "99000"}, "g", Group{45000, 15000, 1000}},
		{"stored nonsense", plain, map[string]string{"consumer.heartbeat.interval.ms": "x", "gone": "1"}, "g", Group{45000, 5000, 1000}},
	} {
		if got := c.r.Group(groupImage(c.own), c.name); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.why, got, c.want)
		}
	}
}

// TestGroupIsCheap holds the price of the lookup that every heartbeat makes.
func TestGroupIsCheap(t *testing.T) {
	r := NewResolver(nil).For(1)
	img := groupImage(map[string]string{"consumer.session.timeout.ms": "46000"})
	if n := testing.AllocsPerRun(100, func() { r.Group(img, "other") }); n != 0 {
		t.Errorf("%v allocs, want 0", n)
	}
}

// TestCheckGroup goes through the refusals of a Kafka 4.4.
func TestCheckGroup(t *testing.T) {
	r := NewResolver(Static{"group.consumer.min.heartbeat.interval.ms": "500", "group.consumer.max.heartbeat.interval.ms": "59000"}).For(1)
	img := groupImage(nil)
	for _, c := range []struct{ name, value, want string }{
		{"consumer.session.timeout.ms", "46000", ""},
		{"consumer.session.timeout.ms", "5", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
		{"consumer.session.timeout.ms", "0", "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1"},
		{"consumer.heartbeat.interval.ms", "60000", "consumer.heartbeat.interval.ms must be in the range 500 to 59000 inclusive."},
		{"consumer.heartbeat.interval.ms", "abc", "Invalid value abc for configuration consumer.heartbeat.interval.ms: Not a number of type INT"},
		{"consumer.heartbeat.interval.ms", "45000", "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"},
		{"no.such", "1", "Unknown group config name: no.such"},
	} {
		got := ""
		if err := r.CheckGroup(img, map[string]string{c.name: c.value}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// TestLimitsOfGroupsGoTogether: a file whose limits exclude its own defaults is refused.
func TestLimitsOfGroupsGoTogether(t *testing.T) {
	for _, c := range []struct {
		values map[string]string
		want   string
	}{
		{map[string]string{"group.consumer.min.heartbeat.interval.ms": "500", "group.consumer.heartbeat.interval.ms": "1000"}, ""},
		{map[string]string{"group.consumer.max.session.timeout.ms": "45000"}, ""},
		{map[string]string{"group.consumer.min.session.timeout.ms": "46000"},
			"group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms"},
		{map[string]string{"group.consumer.heartbeat.interval.ms": "16000"},
			"group.consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms"},
		{map[string]string{"group.consumer.max.heartbeat.interval.ms": "46000", "group.consumer.heartbeat.interval.ms": "45000"},
			"group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms"},
	} {
		got := ""
		if err := CheckBroker(c.values); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
