package metadata

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// runReplication runs the commands of scenarios about brokers and replicas; false: it
// is none of them.
//
//	fence|unfence|shutdown|undrain|unregister|full|room 1 [epoch=E]   ids of brokers
//	isr a/0 1 2@7 [from=L] [epoch=E] [le=N] [pe=N] [recovered=yes] [failed=yes] [full=yes]
//	elect preferred|unclean a/0 a/1 …               no partitions: all
//	reassign a/0 2 3 [keep=yes] / cancel a/0
//	brokers                                         shows what is known of them
//
// Epochs that are not given are the ones that the image has.
func (s *stage) runReplication(w words) bool {
	switch w.verb {
	case "fence", "unfence", "shutdown", "undrain", "unregister", "full", "room":
		for _, word := range w.plain {
			s.say(word, s.apply(s.life(w, brokerID(word))).Err)
		}
	case "isr":
		s.alterISR(w)
	case "elect":
		kind := map[string]meta.ElectionKind{"preferred": meta.Preferred, "unclean": meta.Unclean}[w.plain[0]]
		c := &ElectLeaders{Kind: kind, All: len(w.plain) == 1}
		names := w.plain[1:]
		for _, name := range names {
			c.Partitions = append(c.Partitions, s.partition(name))
		}
		if c.All {
			names = s.partitions()
		}
		s.sayAll(names, s.apply(c).Errors)
	case "reassign", "cancel":
		p := s.partition(w.plain[0])
		r := Reassignment{Topic: p.Topic, Partition: p.Partition, KeepFactor: w.keys["keep"] == "yes"}
		if w.verb == "reassign" {
			r.Replicas = brokerIDs(w.plain[1:])
		}
		s.sayAll(w.plain[:1], s.apply(&AlterReassignments{Changes: []Reassignment{r}}).Errors)
	case "brokers":
		s.showBrokers()
	default:
		return false
	}
	return true
}

// life is the command about a broker's life.
func (s *stage) life(w words, id kafka.BrokerID) Command {
	epoch := kafka.BrokerEpoch(w.number("epoch", int(s.epochOf(id))))
	switch w.verb {
	case "fence":
		return &FenceBroker{ID: id, Epoch: epoch}
	case "unfence":
		return &UnfenceBroker{ID: id, Epoch: epoch}
	case "undrain":
		return &UnfenceBroker{ID: id, Epoch: epoch, Drained: true}
	case "shutdown":
		return &BeginShutdown{ID: id, Epoch: epoch}
	case "full", "room":
		return &SetFull{ID: id, Epoch: epoch, Full: w.verb == "full"}
	}
	return &UnregisterBroker{ID: id}
}

// alterISR asks as the leader does.
func (s *stage) alterISR(w words) {
	id := s.partition(w.plain[0])
	var now meta.Partition
	if t, ok := s.image.TopicByID(id.Topic); ok && int(id.Partition) < len(t.Partitions) {
		now = t.Partitions[id.Partition]
	}
	from := kafka.BrokerID(w.number("from", int(now.Leader)))
	c := ISRChange{Topic: id.Topic, Partition: id.Partition, Recovered: w.keys["recovered"] == "yes", Failed: w.keys["failed"] == "yes", Full: w.keys["full"] == "yes",
		LeaderEpoch:    kafka.LeaderEpoch(w.number("le", int(now.LeaderEpoch))),
		PartitionEpoch: kafka.PartitionEpoch(w.number("pe", int(now.PartitionEpoch)))}
	for _, word := range w.plain[1:] {
		id, epoch, given := strings.Cut(word, "@")
		r := ISRReplica{ID: brokerID(id), Epoch: -1}
		if given {
			n, _ := strconv.Atoi(epoch)
			r.Epoch = kafka.BrokerEpoch(n)
		}
		c.ISR = append(c.ISR, r)
	}
	r := s.apply(&AlterISR{From: from, Epoch: kafka.BrokerEpoch(w.number("epoch", int(s.epochOf(from)))), Changes: []ISRChange{c}})
	if r.Err != nil {
		s.say(w.plain[0], r.Err)
		return
	}
	s.say(w.plain[0], r.ISR[0].Err)
}

// epochOf is the epoch that the image has of a broker.
func (s *stage) epochOf(id kafka.BrokerID) kafka.BrokerEpoch {
	if b, ok := s.image.Broker(id); ok {
		return b.Epoch
	}
	return 0
}

// partition reads a/0; a topic that is not there has an id that nobody has.
func (s *stage) partition(text string) PartitionID {
	name, number, _ := strings.Cut(text, "/")
	n, _ := strconv.Atoi(number)
	id := PartitionID{Topic: topicID(99), Partition: int32(n)}
	if t, ok := s.image.Topic(name); ok {
		id.Topic = t.ID
	}
	return id
}

// partitions are the names of all partitions.
func (s *stage) partitions() (names []string) {
	for t := range s.image.Topics() {
		for n := range t.Partitions {
			names = append(names, fmt.Sprintf("%s/%d", t.Name, n))
		}
	}
	return names
}

func brokerID(text string) kafka.BrokerID {
	n, _ := strconv.Atoi(text)
	return kafka.BrokerID(n)
}

func brokerIDs(texts []string) []kafka.BrokerID {
	ids := []kafka.BrokerID{}
	for _, text := range texts {
		ids = append(ids, brokerID(text))
	}
	return ids
}

// showMore ends a partition's line with what it seldom has.
func (s *stage) showMore(p *meta.Partition) {
	for _, list := range []struct {
		name string
		ids  []kafka.BrokerID
	}{{"elr", p.ELR}, {"adding", p.Adding}, {"removing", p.Removing}} {
		if len(list.ids) > 0 {
			fmt.Fprintf(&s.out, " %s %v", list.name, list.ids)
		}
	}
	if p.LastKnownLeader != kafka.NoBroker {
		fmt.Fprintf(&s.out, " last known leader %d", p.LastKnownLeader)
	}
	if p.Recovering {
		s.out.WriteString(" recovering")
	}
	s.out.WriteString("\n")
}

func (s *stage) showBrokers() {
	for _, b := range slices.SortedFunc(s.image.Brokers(), func(a, b *meta.Broker) int { return cmp.Compare(a.ID, b.ID) }) {
		state := "active"
		switch {
		case b.Fenced:
			state = "fenced"
		case b.ShuttingDown:
			state = "shutting down"
		}
		if b.Full {
			state += ", full"
		}
		fmt.Fprintf(&s.out, "broker %d epoch %d %s\n", b.ID, b.Epoch, state)
	}
	fmt.Fprintf(&s.out, "partitions without a leader: %d\n", s.image.Leaderless())
}
