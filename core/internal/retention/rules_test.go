package retention

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/sdk/storage"
)

// plugins finds rules by name.
func plugins(rules map[string]Rule) func(string) (Rule, bool) {
	return func(name string) (Rule, bool) {
		r, ok := rules[name]
		return r, ok
	}
}

// down gives no answer.
var down = decide(func(context.Context, []storage.LogFacts) ([]storage.Verdict, error) { return nil, errors.New("down") })

// named is a rig whose topic names plugins.
func named(t *testing.T, names []string, rules map[string]Rule) *rig {
	t.Helper()
	return newRigOf(t, answer(verdict(4)), func(c *config.Topic, o *Options) {
		c.RetentionPlugins, o.Rule = names, plugins(rules)
	}, roomyDisk{vfs.OS()})
}

func TestAllPluginsOfATopicMustAgree(t *testing.T) {
	one, three := Rule{Retention: answer(verdict(1))}, Rule{Retention: answer(verdict(3))}
	bad := verdict(2)
	bad.LeaderEpoch = 5
	rules := map[string]Rule{"one": one, "three": three, "none": {Retention: answer()}, "down": {Retention: down}, "bad": {Retention: answer(bad)}}
	for _, c := range []struct {
		names            []string
		start            kafka.Offset
		failed, rejected uint64
	}{
		{[]string{"three"}, 3, 0, 0},
		{[]string{"three", "one"}, 1, 0, 0},
		{[]string{"one", "three"}, 1, 0, 0},
		{[]string{"three", "none"}, 0, 0, 0},
		{[]string{"three", "down"}, 0, 1, 0},
		{[]string{"three", "unheard-of"}, 0, 1, 0},
		{[]string{"three", "bad"}, 0, 0, 1},
	} {
		r := named(t, c.names, rules)
		r.s.Run()
		if got := r.p.StartOffset(); got != c.start || r.s.failed.Load() != c.failed || r.s.rejected.Load() != c.rejected {
			t.Errorf("%v: log start %d, %d silent, %d rejected; want %d, %d, %d",
				c.names, got, r.s.failed.Load(), r.s.rejected.Load(), c.start, c.failed, c.rejected)
		}
		if len(r.asked) != 0 {
			t.Errorf("%v: the broker's own rule was asked", c.names)
		}
	}
}

// The floor is the core's: no plugin gets below it.
func TestNothingYoungerThanTheFloorGoes(t *testing.T) {
	r := newRigOf(t, answer(), func(c *config.Topic, o *Options) {
		c.RetentionPlugins, c.RetentionMinMS = []string{"all"}, 60_000
		o.Rule = plugins(map[string]Rule{"all": {Retention: answer(verdict(4))}})
	}, roomyDisk{vfs.OS()})
	r.s.Run()
	if got := r.p.StartOffset(); got != 0 {
		t.Fatalf("log start %d at once, want 0", got)
	}
	r.clock.Advance(61 * time.Second)
	r.s.Run()
	if got := r.p.StartOffset(); got != 4 {
		t.Errorf("log start %d after the floor, want 4", got)
	}
}

func TestPluginsSeeWhatGroupsCommitted(t *testing.T) {
	var seen, others []storage.GroupOffset
	r := newRigOf(t, answer(), func(c *config.Topic, o *Options) {
		c.RetentionPlugins = []string{"nosy", "other"}
		o.Committed = func(_ context.Context, topics map[string]bool) (map[kafka.TopicPartition][]storage.GroupOffset, error) {
			if len(topics) != 1 || !topics["t"] {
				t.Errorf("asked for %v", topics)
			}
			return map[kafka.TopicPartition][]storage.GroupOffset{
				{Topic: "t"}: {{Group: "g", Offset: 7}}, {Topic: "t", Partition: 1}: {{Group: "g", Offset: 8}}}, nil
		}
		o.Rule = plugins(map[string]Rule{
			"nosy": {Committed: true, Retention: decide(func(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
				seen = logs[0].Committed
				return nil, nil
			})},
			"other": {Retention: decide(func(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
				others = logs[0].Committed
				return nil, nil
			})},
		})
	}, roomyDisk{vfs.OS()})
	r.s.Run()
	if len(seen) != 1 || seen[0] != (storage.GroupOffset{Group: "g", Offset: 7}) || others != nil {
		t.Errorf("one plugin saw %v, the other %v", seen, others)
	}
}

// A rule that wants to know what groups have committed is not asked while some of that
// is not known: it could let go what a group that it can't see has not read.
func TestNobodyDecidesByHalfOfTheGroups(t *testing.T) {
	for _, known := range []bool{true, false} {
		asked := 0
		r := newRigOf(t, answer(), func(c *config.Topic, o *Options) {
			c.RetentionPlugins = []string{"nosy"}
			o.Committed = func(ctx context.Context, _ map[string]bool) (map[kafka.TopicPartition][]storage.GroupOffset, error) {
				if _, ends := ctx.Deadline(); !ends {
					t.Error("the look at all groups has no deadline")
				}
				if !known {
					return nil, errors.New("a broker does not answer")
				}
				return nil, nil
			}
			o.Rule = plugins(map[string]Rule{"nosy": {Committed: true, Retention: decide(func(context.Context, []storage.LogFacts) ([]storage.Verdict, error) {
				asked++
				return []storage.Verdict{verdict(2)}, nil
			})}})
		}, roomyDisk{vfs.OS()})
		r.s.Run()
		if want := map[bool]int{true: 1}[known]; asked != want || r.s.failed.Load() != uint64(1-want) || (r.p.StartOffset() > 0) != known {
			t.Errorf("known=%v: asked %d times, %d failed, log start %d", known, asked, r.s.failed.Load(), r.p.StartOffset())
		}
	}
}

// fullDisk has hardly any room left.
type fullDisk struct{ vfs.FS }

// roomyDisk has, however full the disk of the test is.
type roomyDisk struct{ vfs.FS }

func (roomyDisk) Usage(string) (vfs.Usage, error) { return vfs.Usage{Total: 1000, Available: 500}, nil }

func (fullDisk) Usage(string) (vfs.Usage, error) { return vfs.Usage{Total: 1000, Available: 49}, nil }

// A plugin that is down must not fill the disk.
func TestTimeAndSizeDecideWhereTheDiskIsFull(t *testing.T) {
	for says, c := range map[string]struct {
		disk  vfs.FS
		rule  storage.Retention
		start kafka.Offset
	}{
		"silent, with room":         {roomyDisk{vfs.OS()}, down, 0},
		"silent, without":           {fullDisk{vfs.OS()}, down, 2},
		"it keeps all, without any": {fullDisk{vfs.OS()}, answer(), 0},
	} {
		r := newRigOf(t, answer(verdict(2)), func(t *config.Topic, o *Options) {
			t.RetentionPlugins, o.Rule = []string{"p"}, plugins(map[string]Rule{"p": {Retention: c.rule}})
		}, c.disk)
		r.s.Run()
		if got := r.p.StartOffset(); got != c.start {
			t.Errorf("%s: log start %d, want %d", says, got, c.start)
		}
	}
}

func TestPluginsSeeHowLargeTopicsAre(t *testing.T) {
	var seen []storage.TopicBytes
	r := newRigOf(t, answer(), func(c *config.Topic, o *Options) {
		c.RetentionPlugins = []string{"p"}
		o.Rule = plugins(map[string]Rule{"p": {Topics: true, Retention: decide(func(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
			seen = logs[0].Topics
			return nil, nil
		})}})
	}, roomyDisk{vfs.OS()})
	r.s.Run()
	if want := r.p.SizeBytes(); len(seen) != 1 || seen[0] != (storage.TopicBytes{Topic: "t", Bytes: want}) {
		t.Errorf("the plugin saw %v, want %d bytes of t", seen, want)
	}
}

func TestPluginsAreAskedWithoutLimitsToo(t *testing.T) {
	r := newRigOf(t, answer(), func(c *config.Topic, o *Options) {
		c.RetentionMS, c.RetentionBytes, c.RetentionPlugins = -1, -1, []string{"p"}
		o.Rule = plugins(map[string]Rule{"p": {Retention: answer(verdict(1))}})
	}, roomyDisk{vfs.OS()})
	r.s.Run()
	if got := r.p.StartOffset(); got != 1 {
		t.Errorf("log start %d, want 1", got)
	}
}
