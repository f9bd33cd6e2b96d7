package metadata

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/scenario"
)

// TestScenarios runs every testdata/*.txt: a file is a story about one image,
// blocks of commands, "----", and what they print. -rewrite regenerates them.
func TestScenarios(t *testing.T) { scenario.Play(t, play) }

// epochs are those of epochs=PARTITION:EPOCH/… of the topic with id 1.
func (w words) epochs() (all []LogEpoch) {
	for pair := range strings.SplitSeq(w.keys["epochs"], "/") {
		if partition, epoch, ok := strings.Cut(pair, ":"); ok {
			n, _ := strconv.Atoi(partition)
			e, _ := strconv.Atoi(epoch)
			all = append(all, LogEpoch{TopicID: topicID(1), Partition: int32(n), Epoch: kafka.LeaderEpoch(e)})
		}
	}
	return all
}

// missing are those of missing=PARTITION/… of the topic with id 1.
func (w words) missing() (all []PartitionID) {
	for number := range strings.SplitSeq(w.keys["missing"], "/") {
		if n, err := strconv.Atoi(number); err == nil {
			all = append(all, PartitionID{Topic: topicID(1), Partition: int32(n)})
		}
	}
	return all
}

// play runs a scenario and returns its text with the outputs it has now.
func play(t *testing.T, text string) string {
	s := &stage{t: t, image: meta.Empty("")}
	return scenario.Blocks(text, &s.out, s.run)
}

// stage is the state of one scenario.
type stage struct {
	t     *testing.T
	image *meta.Image
	index uint64
	out   strings.Builder
}

// words is a command line: the verb, the plain words and the key=value words.
type words struct {
	verb  string
	plain []string
	keys  map[string]string
}

func split(line string) words {
	fields := strings.Fields(line)
	w := words{verb: fields[0], keys: map[string]string{}}
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok {
			w.keys[k] = v
		} else {
			w.plain = append(w.plain, f)
		}
	}
	return w
}

func (w words) number(key string, otherwise int) int {
	if v, ok := w.keys[key]; ok {
		if n, err := strconv.Atoi(v); err == nil {
			return n
		}
	}
	return otherwise
}

// assignment reads "1,2/2,3": partitions by slash, replicas by comma.
func (w words) assignment() [][]kafka.BrokerID {
	text, ok := w.keys["assign"]
	if !ok {
		return nil
	}
	all := [][]kafka.BrokerID{}
	for _, partition := range strings.Split(text, "/") {
		replicas := []kafka.BrokerID{}
		for _, id := range strings.FieldsFunc(partition, func(r rune) bool { return r == ',' }) {
			n, _ := strconv.Atoi(id)
			replicas = append(replicas, kafka.BrokerID(n))
		}
		all = append(all, replicas)
	}
	return all
}

// pairs reads "a:1,b:2".
func (w words) pairs(key string) map[string]string {
	m := map[string]string{}
	for _, pair := range strings.FieldsFunc(w.keys[key], func(r rune) bool { return r == ',' }) {
		k, v, _ := strings.Cut(pair, ":")
		m[k] = v
	}
	return m
}

// topicID is an id that can be read in a text: it starts with n.
func topicID(n int) kafka.TopicID { return kafka.TopicID{byte(n), 6: 0x40, 8: 0x80} }

func (s *stage) run(line string) {
	w := split(line)
	switch w.verb {
	case "bootstrap":
		s.apply(&Bootstrap{ClusterID: w.plain[0], Features: map[string]int16{"metadata.version": 33}})
	case "register":
		id, _ := strconv.Atoi(w.plain[0])
		ids, _ := strconv.ParseInt(w.keys["ids"], 10, 64)
		r := s.apply(&RegisterBroker{ID: kafka.BrokerID(id), CleanShutdown: w.keys["clean"] != "no",
			Endpoints:   []Endpoint{{Listener: "PLAINTEXT", Host: "b" + w.plain[0], Port: 9092}},
			ProducerIDs: kafka.ProducerID(ids), LaterEpochs: w.epochs(), Rack: w.keys["rack"], PreviousEpoch: kafka.BrokerEpoch(w.number("previous", 0)),
			MinISR: w.number("min", 0), Unclean: w.keys["unclean"] == "yes", Attempt: uint64(w.number("attempt", 0)), Missing: w.missing()})
		fmt.Fprintf(&s.out, "broker epoch %d\n", r.BrokerEpoch)
	case "create":
		c := &CreateTopics{Seed: uint64(w.number("seed", 0))}
		for n, name := range w.plain {
			c.Topics = append(c.Topics, NewTopic{Name: name, ID: topicID(w.number("id", 1) + n), PartitionCount: int32(w.number("partitions", 1)),
				ReplicationFactor: int16(w.number("rf", 1)), Assignment: w.assignment(), Configs: w.pairs("configs")})
		}
		for n, r := range s.apply(c).Topics {
			s.say(w.plain[n], r.Err)
		}
	case "delete":
		c := &DeleteTopics{}
		for _, id := range w.plain {
			n, _ := strconv.Atoi(id)
			c.IDs = append(c.IDs, topicID(n))
		}
		s.sayAll(w.plain, s.apply(c).Errors)
	case "grow":
		c := &CreatePartitions{Seed: uint64(w.number("seed", 0))}
		for _, name := range w.plain {
			c.Topics = append(c.Topics, NewPartitions{Topic: name, Count: int32(w.number("to", 0)), Assignment: w.assignment()})
		}
		s.sayAll(w.plain, s.apply(c).Errors)
	case "config":
		c := &AlterConfigs{}
		for _, name := range w.plain {
			c.Changes = append(c.Changes, ConfigChange{Type: meta.ResourceTopic, Name: name, Previous: w.pairs("previous"), Values: w.pairs("values")})
		}
		s.sayAll(w.plain, s.apply(c).Errors)
	case "default":
		c := ConfigChange{Type: meta.ResourceBroker, Previous: w.pairs("previous"), Values: w.pairs("values")}
		s.sayAll([]string{"default"}, s.apply(&AlterConfigs{Changes: []ConfigChange{c}}).Errors)
	case "feature":
		u := FeatureUpdate{Name: w.plain[0], Level: int16(w.number("level", 0)), Downgrade: meta.DowngradeKind(w.number("kind", 1))}
		s.sayAll(w.plain, s.apply(&UpdateFeatures{Decider: 1, Updates: []FeatureUpdate{u}}).Errors)
	case "pids":
		b := s.apply(&AllocateProducerIDs{Count: int64(w.number("count", 1000))}).Block
		fmt.Fprintf(&s.out, "producer ids %d to %d\n", b.First, int64(b.First)+b.Count-1)
	case "show":
		s.show()
	default:
		if !s.runReplication(w) {
			s.t.Fatalf("no such command: %s", line)
		}
	}
}

// apply runs a command as a node does: through its encoding.
func (s *stage) apply(c Command) Result {
	s.index++
	b, err := EncodeCommand(c)
	if err != nil {
		s.t.Fatal(err)
	}
	again, err := DecodeCommand(b)
	if err != nil {
		s.t.Fatal(err)
	}
	next, r := Apply(s.image, s.index, again)
	s.image = next
	return r
}

func (s *stage) sayAll(names []string, errs []*kafka.Error) {
	for n, err := range errs {
		s.say(names[n], err)
	}
}

func (s *stage) say(name string, err *kafka.Error) {
	if err == nil {
		fmt.Fprintf(&s.out, "%s: ok\n", name)
		return
	}
	fmt.Fprintf(&s.out, "%s: %v\n", name, err)
}

func (s *stage) show() {
	i := s.image
	fmt.Fprintf(&s.out, "index %d cluster %s next producer id %d topics %d partitions %d\n",
		i.Index, i.ClusterID, i.NextProducerID, i.TopicCount(), i.PartitionCount())
	for _, name := range slices.Sorted(maps.Keys(i.Features())) {
		fmt.Fprintf(&s.out, "feature %s %d\n", name, i.Features()[name])
	}
	for t := range i.Topics() {
		fmt.Fprintf(&s.out, "topic %s id %d configs %v\n", t.Name, t.ID[0], i.Config(meta.Resource{Type: meta.ResourceTopic, Name: t.Name}))
		for n, p := range t.Partitions {
			fmt.Fprintf(&s.out, "  %d: replicas %v isr %v leader %d epoch %d/%d", n, p.Replicas, p.ISR, p.Leader, p.LeaderEpoch, p.PartitionEpoch)
			s.showMore(&p)
		}
	}
}

// snapshotOf is the one encoding of an image, for comparing.
func snapshotOf(t testing.TB, i *meta.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSnapshot(&b, i); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
