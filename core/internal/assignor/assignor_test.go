package assignor

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/seeded"
)

// topicID is the n-th id of a test: sorted as n, and of Kafka's hash code n.
func topicID(n int) kafka.TopicID { return kafka.TopicID{14: byte(n >> 8), 15: byte(n)} }

// group is a group of a test and its topics.
type group struct {
	members []Member
	topics  map[kafka.TopicID]Topic
}

// drawGroup draws members with or without instance ids, topics and subscriptions.
// Nobody has anything yet.
func drawGroup(t *rapid.T) group {
	g := group{topics: make(map[kafka.TopicID]Topic)}
	counts := rapid.SliceOfN(rapid.Int32Range(0, 12), 1, 6).Draw(t, "partitions")
	var all []kafka.TopicID
	for i, n := range counts {
		id := topicID(i + 1)
		all = append(all, id)
		g.topics[id] = Topic{ID: id, Name: fmt.Sprint("t", i), Partitions: n}
	}
	alike := rapid.Bool().Draw(t, "alike")
	for i := range rapid.IntRange(1, 8).Draw(t, "members") {
		m := Member{ID: fmt.Sprint("m", i), Topics: all}
		if !alike {
			m.Topics = drawSubset(t, all)
		}
		if rapid.IntRange(0, 3).Draw(t, "static") == 0 {
			m.InstanceID = fmt.Sprint("i", 9-i)
		}
		g.members = append(g.members, m)
	}
	return g
}

func drawSubset(t *rapid.T, all []kafka.TopicID) []kafka.TopicID {
	var some []kafka.TopicID
	for _, id := range all {
		if rapid.Bool().Draw(t, "subscribes") {
			some = append(some, id)
		}
	}
	return some
}

// drawHistory gives each member a current target that some earlier group may have
// left: no partition twice, but uneven and with what is no longer subscribed to.
func drawHistory(t *rapid.T, g group) {
	for i := range g.members {
		g.members[i].Current = make(map[kafka.TopicID][]int32)
	}
	for _, id := range slices.SortedFunc(maps.Keys(g.topics), kafka.TopicID.Compare) {
		for partition := range g.topics[id].Partitions {
			if m := rapid.IntRange(-2, len(g.members)-1).Draw(t, "owner"); m >= 0 {
				current := g.members[m].Current
				current[id] = append(current[id], partition)
			}
		}
	}
}

// rules are the two assignors by Kafka's names.
var rules = map[string]func([]Member, map[kafka.TopicID]Topic) (Assignment, error){"range": Range, "uniform": Uniform}

// TestEveryPartitionHasOneOwner holds the invariants of doc.go, and that neither the
// order of members nor a second run changes the answer. Otherwise records would be
// read twice or never.
func TestEveryPartitionHasOneOwner(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		drawHistory(t, g)
		for name, rule := range rules {
			got := must(t, rule, g)
			checkOwners(t, name, g, got)
			shuffled := group{rapid.Permutation(g.members).Draw(t, "order"), g.topics}
			if again := must(t, rule, shuffled); !reflect.DeepEqual(got, again) {
				t.Fatalf("%s: another order of members gives %v, want %v", name, again, got)
			}
		}
	})
}

func must(t *rapid.T, rule func([]Member, map[kafka.TopicID]Topic) (Assignment, error), g group) Assignment {
	got, err := rule(g.members, g.topics)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func checkOwners(t rapid.TB, name string, g group, got Assignment) {
	if len(got) != len(g.members) {
		t.Fatalf("%s: %d members have an entry, want %d", name, len(got), len(g.members))
	}
	subscribers := make(map[kafka.TopicID]int)
	owners := make(map[string]string)
	for _, m := range g.members {
		for _, id := range m.Topics {
			subscribers[id]++
		}
		for id, partitions := range got[m.ID] {
			if !slices.Contains(m.Topics, id) || len(partitions) == 0 || !slices.IsSorted(partitions) {
				t.Fatalf("%s: member %s subscribes to %v and has %v of %v", name, m.ID, m.Topics, partitions, id)
			}
			for _, partition := range partitions {
				key := fmt.Sprint(id, partition)
				if other, twice := owners[key]; twice {
					t.Fatalf("%s: %s and %s have partition %s", name, other, m.ID, key)
				}
				owners[key] = m.ID
			}
		}
	}
	want := 0
	for id, n := range subscribers {
		if n > 0 {
			want += int(g.topics[id].Partitions)
		}
	}
	if len(owners) != want {
		t.Fatalf("%s: %d partitions have an owner, want %d", name, len(owners), want)
	}
}

// TestUniformIsEven holds that sizes differ by one at most when all subscribe to the
// same, and otherwise within each topic as far as someone has something to give.
func TestUniformIsEven(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		drawHistory(t, g)
		got := must(t, Uniform, g)
		for id := range g.topics {
			least, most := bounds(g, got, id)
			if most-least > 1 {
				t.Fatalf("topic %v: one subscriber has %d partitions and one that owns some of it %d, want a difference of 1 at most", id, least, most)
			}
		}
	})
}

// bounds is the smallest size of a subscriber of a topic and the largest of one that
// owns a partition of it. Another size could be moved.
func bounds(g group, got Assignment, id kafka.TopicID) (least, most int) {
	least = -1
	for _, m := range g.members {
		if !slices.Contains(m.Topics, id) {
			continue
		}
		n := size(got[m.ID])
		if least < 0 || n < least {
			least = n
		}
		if len(got[m.ID][id]) > 0 {
			most = max(most, n)
		}
	}
	return least, most
}

func size(partitions map[kafka.TopicID][]int32) int {
	n := 0
	for _, some := range partitions {
		n += len(some)
	}
	return n
}

// TestUniformMovesNothingTwice holds stickiness: run on its own answer it changes
// nothing; when all subscribe to the same, a member keeps all that fits its share.
func TestUniformMovesNothingTwice(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		drawHistory(t, g)
		first := must(t, Uniform, g)
		if p, err := newPlan(g.members, g.topics); err == nil && p.homogeneous() {
			checkKept(t, g, first)
		}
		for i := range g.members {
			g.members[i].Current = first[g.members[i].ID]
		}
		if again := must(t, Uniform, g); !reflect.DeepEqual(first, again) {
			t.Fatalf("run on its own answer %v it gives %v, want the same", first, again)
		}
	})
}

func checkKept(t *rapid.T, g group, got Assignment) {
	for _, m := range g.members {
		had, kept := 0, 0
		for id, partitions := range m.Current {
			for _, partition := range partitions {
				if slices.Contains(m.Topics, id) {
					had++
					if slices.Contains(got[m.ID][id], partition) {
						kept++
					}
				}
			}
		}
		if n := size(got[m.ID]); kept != min(had, n) {
			t.Fatalf("member %s had %d and has %d of which %d are the same, want %d", m.ID, had, n, kept, min(had, n))
		}
	}
}

// TestRangeLinesUp is the example that users of range rely on: the same numbers of
// topics with as many partitions go to the same member, static ones first.
func TestRangeLinesUp(t *testing.T) {
	topics := map[kafka.TopicID]Topic{topicID(1): {ID: topicID(1), Partitions: 3}, topicID(2): {ID: topicID(2), Partitions: 3}}
	both := []kafka.TopicID{topicID(1), topicID(2)}
	got, err := Range([]Member{
		{ID: "a", Topics: both}, {ID: "z", InstanceID: "2", Topics: both}, {ID: "y", InstanceID: "3", Topics: both},
		{ID: "b", Topics: both},
	}, topics)
	if err != nil {
		t.Fatal(err)
	}
	want := Assignment{
		"z": {topicID(1): {0}, topicID(2): {0}}, "y": {topicID(1): {1}, topicID(2): {1}},
		"a": {topicID(1): {2}, topicID(2): {2}}, "b": {},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("range gives %v, want %v", got, want)
	}
}

// TestUniformPrefersItsRack holds that racks choose among what is handed out, and
// change neither sizes nor what stays.
func TestUniformPrefersItsRack(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		drawHistory(t, g)
		plain := must(t, Uniform, g)
		for i := range g.members {
			g.members[i].RackID = fmt.Sprint("r", i%3)
		}
		for id, topic := range g.topics {
			topic.Racks = func(partition int32) []string { return []string{fmt.Sprint("r", partition%3)} }
			g.topics[id] = topic
		}
		got := must(t, Uniform, g)
		checkOwners(t, "uniform", g, got)
		if p, err := newPlan(g.members, g.topics); err == nil && !p.homogeneous() {
			return // Who has what decides what evening out moves afterwards.
		}
		for id := range plain {
			if size(plain[id]) != size(got[id]) {
				t.Fatalf("member %s has %d with racks, want %d", id, size(got[id]), size(plain[id]))
			}
		}
		checkKept(t, g, got)
	})
	topics := map[kafka.TopicID]Topic{topicID(1): {ID: topicID(1), Partitions: 4, Racks: func(partition int32) []string {
		return []string{string(rune('a' + partition%2))}
	}}}
	one := []kafka.TopicID{topicID(1)}
	got, err := Uniform([]Member{{ID: "1", RackID: "b", Topics: one}, {ID: "2", RackID: "a", Topics: one}}, topics)
	want := Assignment{"1": {topicID(1): {1, 3}}, "2": {topicID(1): {0, 2}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("uniform with racks gives %v, %v, want %v", got, err, want)
	}
}

func TestUnknownTopic(t *testing.T) {
	for name, rule := range rules {
		if _, err := rule([]Member{{ID: "a", Topics: []kafka.TopicID{topicID(1)}}}, nil); !errors.Is(err, ErrUnknownTopic) {
			t.Errorf("%s of a topic that is not described gives %v, want ErrUnknownTopic", name, err)
		}
		if got, err := rule(nil, nil); err != nil || len(got) != 0 {
			t.Errorf("%s of nobody gives %v, %v, want nothing", name, got, err)
		}
	}
}

// TestForeignTargetsAreIgnored holds that a target of partitions that do not exist or
// that someone else has harms nothing.
func TestForeignTargetsAreIgnored(t *testing.T) {
	one := []kafka.TopicID{topicID(1)}
	topics := map[kafka.TopicID]Topic{topicID(1): {ID: topicID(1), Partitions: 2}}
	got, err := Uniform([]Member{
		{ID: "a", Topics: one, Current: map[kafka.TopicID][]int32{topicID(1): {0, 1, 7, -1}, topicID(2): {0}}},
		{ID: "b", Topics: one, Current: map[kafka.TopicID][]int32{topicID(1): {1, 1}}},
	}, topics)
	want := Assignment{"a": {topicID(1): {0}}, "b": {topicID(1): {1}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("uniform gives %v, %v, want %v", got, err, want)
	}
}

// BenchmarkThousandMembers is the size that doc.go states: 1,000 members and 10,000
// partitions, a tenth of which have no owner yet.
func BenchmarkThousandMembers(b *testing.B) {
	for name, rule := range rules {
		for _, alike := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/alike=%v", name, alike), func(b *testing.B) {
				g := largeGroup(alike)
				for b.Loop() {
					if _, err := rule(g.members, g.topics); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// largeGroup has 100 topics of 100 partitions and 1,000 members.
func largeGroup(alike bool) group {
	g := group{topics: make(map[kafka.TopicID]Topic)}
	var all []kafka.TopicID
	for i := range 100 {
		all = append(all, topicID(i))
		g.topics[topicID(i)] = Topic{ID: topicID(i), Partitions: 100}
	}
	for i := range 1000 {
		m := Member{ID: fmt.Sprintf("member-%04d", i), Topics: all, Current: map[kafka.TopicID][]int32{}}
		if !alike {
			m.Topics = all[:50+i%50]
		}
		for j := range 9 {
			n := i*10 + j
			m.Current[topicID(n/100)] = append(m.Current[topicID(n/100)], int32(n%100))
		}
		g.members = append(g.members, m)
	}
	return g
}

// TestLargeGroup holds the invariants at the size of the benchmark.
func TestLargeGroup(t *testing.T) {
	for name, rule := range rules {
		for _, alike := range []bool{true, false} {
			g := largeGroup(alike)
			got, err := rule(g.members, g.topics)
			if err != nil {
				t.Fatal(err)
			}
			checkOwners(t, name, g, got)
		}
	}
}
