package meta

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/seeded"
)

// onBroker are the partitions on a broker, found by looking at all.
func onBroker(i *Image, id kafka.BrokerID) (found []PartitionID) {
	for t := range i.Topics() {
		for n := range t.Partitions {
			if slices.Contains(t.Partitions[n].Replicas, id) {
				found = append(found, PartitionID{t.ID, int32(n)})
			}
		}
	}
	return found
}

// wrongIndex compares what an image knows about itself with a look at all of it; empty:
// it is so.
func wrongIndex(i *Image, brokers kafka.BrokerID) string {
	var want totals
	for t := range i.Topics() {
		want.count(t, 1)
	}
	if i.totals != want {
		return fmt.Sprintf("the totals are %+v, want %+v", i.totals, want)
	}
	for id := range brokers {
		got, want := slices.Collect(i.PartitionsOn(id)), onBroker(i, id)
		slices.SortFunc(got, PartitionID.compare)
		slices.SortFunc(want, PartitionID.compare)
		if !slices.Equal(got, want) {
			return fmt.Sprintf("on %d are %v, want %v", id, got, want)
		}
	}
	return ""
}

// Topics that come, grow, move and go, some of them anew under a name or an id: every
// image, also one that was edited on, knows what is where and what changed since those
// before it, as a look at everything would find it.
func TestImagesKnowWhatIsWhereAndWhatChanged(t *testing.T) {
	const brokers = 5
	seeded.Check(t, func(t *rapid.T) {
		replicas := rapid.SliceOfNDistinct(rapid.Map(rapid.Int32Range(0, brokers-1), func(n int32) kafka.BrokerID { return kafka.BrokerID(n) }), 1, 3, rapid.ID[kafka.BrokerID])
		images := []*Image{Empty("c")}
		for range rapid.IntRange(1, 30).Draw(t, "images") {
			last := images[len(images)-1]
			e := last.Edit(last.Index + 1)
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
				old, exists := e.Topic(name)
				switch what := rapid.IntRange(0, 4).Draw(t, "what"); {
				case what == 0:
					e.RemoveTopic(name)
				case what == 1:
					e.SetConfig(Resource{ResourceTopic, name}, map[string]string{"k": fmt.Sprint(last.Index)})
				case exists && what < 4:
					next := &Topic{Name: name, ID: old.ID, Partitions: slices.Clone(old.Partitions)}
					for range rapid.IntRange(0, 2).Draw(t, "more") {
						next.Partitions = append(next.Partitions, Partition{})
					}
					n := rapid.IntRange(0, len(next.Partitions)-1).Draw(t, "moved")
					next.Partitions[n].Replicas = nil
					for n := range next.Partitions {
						if p := &next.Partitions[n]; p.Replicas == nil {
							p.Replicas = replicas.Draw(t, "replicas")
							p.Leader = rapid.SampledFrom(p.Replicas).Draw(t, "leader")
						}
					}
					e.PutTopic(next)
				default:
					list := replicas.Draw(t, "first replicas")
					e.PutTopic(&Topic{Name: name, ID: kafka.TopicID{name[0], byte(last.Index)}, Partitions: []Partition{{Replicas: list, Leader: list[0]}}})
				}
			}
			images = append(images, e.Image())
		}
		for n, i := range images {
			if why := wrongIndex(i, brokers); why != "" {
				t.Fatalf("image %d: %s", n, why)
			}
			for m, old := range images[:n+1] {
				checkChanged(t, fmt.Sprintf("from %d to %d", m, n), old, i)
			}
		}
	})
}

// checkChanged holds that nothing changed but what the newer image says.
func checkChanged(t *rapid.T, says string, old, i *Image) {
	ids, known := i.ChangedSince(old)
	if !known {
		t.Fatalf("%s: not known", says)
	}
	names, _ := i.NamesChangedSince(old)
	all := map[kafka.TopicID]*Topic{}
	for _, image := range []*Image{old, i} {
		for topic := range image.Topics() {
			all[topic.ID] = topic
		}
	}
	for id, topic := range all {
		was, _ := old.TopicByID(id)
		is, _ := i.TopicByID(id)
		r := Resource{ResourceTopic, topic.Name}
		same := was == is && maps.Equal(old.Config(r), i.Config(r))
		if !same && (!slices.Contains(ids, id) || !slices.Contains(names, topic.Name)) {
			t.Fatalf("%s: %s with id %v changed, told are %v, %v", says, topic.Name, id, ids, names)
		}
	}
	if old == i && len(ids) > 0 {
		t.Fatalf("%s: told of itself are %v", says, ids)
	}
}

// What concerns one broker looks at what is on that broker, however large the cluster is.
func TestADecisionAboutABrokerLooksAtWhatItHas(t *testing.T) {
	const brokers, topics = 100, 1000
	e := Empty("c").Edit(1)
	for id := range kafka.BrokerID(brokers) {
		e.PutBroker(&Broker{ID: id})
	}
	for n := range topics {
		first := kafka.BrokerID(n % brokers)
		list := []kafka.BrokerID{first, (first + 1) % brokers, (first + 2) % brokers}
		e.PutTopic(&Topic{Name: fmt.Sprint(n), ID: kafka.TopicID{15: byte(n), 14: byte(n >> 8), 1: 1},
			Partitions: []Partition{{Replicas: list, ISR: list, Leader: first, LastKnownLeader: kafka.NoBroker}}})
	}
	d, looked := e.Image().Draft(), 0
	d.update(7, func(*Partition) bool { looked++; return false }, asRuled)
	if want := topics / brokers * 3; looked != want {
		t.Errorf("%d partitions were looked at, want the %d that the broker has", looked, want)
	}
	if err := d.Fence(7, 0); err != nil || len(d.topics) != topics/brokers*3 {
		t.Errorf("the fence changed %d topics (%v)", len(d.topics), err)
	}
}
