package retention

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Rule is a retention plugin in service.
type Rule struct {
	Retention storage.Retention
	// Committed says that it wants to know what groups have committed
	// (storage.FeatureCommitted).
	Committed bool
	// Topics says that it wants to know how large all topics are (storage.FeatureTopics).
	Topics bool
}

// ownRule is the name of Options.Retention among the names of rules: topics can't
// name it so.
const ownRule = ""

// ownRules are the rules of a topic that names none.
var ownRules = []string{ownRule}

// question is one log that rules are asked about.
type question struct {
	storage.LogFacts
	partition *partition.Partition
	rules     []string // that must agree
	minMS     int64
}

// own says that the broker's own rule alone decides about the log.
func (q *question) own() bool { return len(q.rules) == 1 && q.rules[0] == ownRule }

// answers are what one rule said: how many segments of each log may go.
type answers struct {
	verdicts map[kafka.TopicPartition]storage.Verdict
	silent   bool // it gave no answer
}

// ask puts a page of questions to the rules that they name, and does what all rules
// of a log agree on.
func (s *Scheduler) ask(page []question) {
	usage(page)
	said := map[string]answers{}
	for i := range page {
		for _, name := range page[i].rules {
			if _, asked := said[name]; !asked {
				said[name] = s.consult(name, page, func(q *question) bool { return slices.Contains(q.rules, name) })
			}
		}
	}
	s.rescue(page, said)
	for i := range page {
		if v, agreed := agreement(&page[i], said); agreed {
			s.execute(v, &page[i])
		}
	}
}

// consult asks one rule about those questions that concern it.
func (s *Scheduler) consult(name string, page []question, concerns func(*question) bool) answers {
	rule, found := s.rule(name)
	var facts []storage.LogFacts
	asked := map[kafka.TopicPartition]*question{}
	var sizes []storage.TopicBytes
	if rule.Topics {
		sizes = s.topicBytes()
	}
	committed, err := s.committed(rule, page, concerns)
	if err != nil {
		s.fail(name, len(slices.Collect(each(page, concerns))), err)
		return answers{silent: true}
	}
	for q := range each(page, concerns) {
		f := q.LogFacts
		if rule.Committed {
			f.Committed = committed[q.partition.TopicPartition()]
		}
		if rule.Topics {
			f.Topics = sizes
		}
		facts = append(facts, f)
		asked[q.partition.TopicPartition()] = q
	}
	if len(facts) == 0 {
		return answers{}
	}
	if !found {
		s.fail(name, len(facts), fmt.Errorf("there is no retention plugin of that name in service"))
		return answers{silent: true}
	}
	verdicts, err := s.decide(rule.Retention, facts)
	if err != nil {
		s.fail(name, len(facts), err)
		return answers{silent: true}
	}
	return answers{verdicts: s.checked(verdicts, asked)}
}

// each are the questions that concern a rule.
func each(page []question, concerns func(*question) bool) iter.Seq[*question] {
	return func(yield func(*question) bool) {
		for i := range page {
			if concerns(&page[i]) && !yield(&page[i]) {
				return
			}
		}
	}
}

// committed are the offsets that a rule wants to see. Who knows only some of the groups
// would take the others for groups that stand still, or for none.
func (s *Scheduler) committed(rule Rule, page []question, concerns func(*question) bool) (map[kafka.TopicPartition][]storage.GroupOffset, error) {
	topics := map[string]bool{}
	for q := range each(page, concerns) {
		topics[q.Topic] = true
	}
	if !rule.Committed || len(topics) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, deadline)
	defer cancel()
	return s.o.Committed(ctx, topics)
}

// topicBytes is how large each topic is on this broker, as far as it leads.
func (s *Scheduler) topicBytes() []storage.TopicBytes {
	bytes := map[string]int64{}
	for p := range s.o.Partitions {
		if p.Role().Leading && p.Offline() == nil {
			bytes[p.TopicPartition().Topic] += p.SizeBytes()
		}
	}
	all := make([]storage.TopicBytes, 0, len(bytes))
	for _, topic := range slices.Sorted(maps.Keys(bytes)) {
		all = append(all, storage.TopicBytes{Topic: topic, Bytes: bytes[topic]})
	}
	return all
}

// rule finds a rule by name.
func (s *Scheduler) rule(name string) (Rule, bool) {
	if name == ownRule {
		return Rule{Retention: s.o.Retention}, s.o.Retention != nil
	}
	return s.o.Rule(name)
}

// checked are the verdicts that keep the contract. One that does not is dropped: the
// data stays.
func (s *Scheduler) checked(verdicts []storage.Verdict, asked map[kafka.TopicPartition]*question) map[kafka.TopicPartition]storage.Verdict {
	good := make(map[kafka.TopicPartition]storage.Verdict, len(verdicts))
	for _, v := range verdicts {
		tp := kafka.TopicPartition{Topic: v.Topic, Partition: v.Partition}
		q, ok := asked[tp]
		if !ok {
			s.reject(v, "the log was not in the question, or is named twice")
			continue
		}
		delete(asked, tp)
		if why := q.wrong(v); why != "" {
			s.reject(v, why)
			continue
		}
		good[tp] = v
	}
	return good
}

// wrong says what is wrong with a verdict on the log; empty: nothing.
func (q *question) wrong(v storage.Verdict) string {
	limit, n := min(q.HighWatermark, q.LastStable), v.DeleteOldest
	switch {
	case n < 0 || n > len(q.Segments):
		return fmt.Sprintf("there are %d segments", len(q.Segments))
	case n > 0 && q.Segments[n-1].NextOffset > limit:
		return fmt.Sprintf("it goes up to offset %d, beyond %d", q.Segments[n-1].NextOffset, limit)
	case v.LeaderEpoch != q.LeaderEpoch:
		return fmt.Sprintf("it is for leader epoch %d, not %d", v.LeaderEpoch, q.LeaderEpoch)
	}
	return ""
}

// agreement is what all rules of a log let go; false: nothing.
func agreement(q *question, said map[string]answers) (storage.Verdict, bool) {
	tp := q.partition.TopicPartition()
	all, reasons := storage.Verdict{DeleteOldest: len(q.Segments)}, []string{}
	for n, name := range q.rules {
		v := said[name].verdicts[tp]
		if v.DeleteOldest == 0 {
			return v, false
		}
		if n == 0 || v.DeleteOldest < all.DeleteOldest {
			all = v
		}
		if v.Reason != "" && !slices.Contains(reasons, v.Reason) {
			reasons = append(reasons, v.Reason)
		}
	}
	all.Reason = strings.Join(reasons, " and ")
	all.DeleteOldest = q.oldEnough(all.DeleteOldest)
	return all, all.DeleteOldest > 0
}

// oldEnough is how many of the n oldest segments have no record younger than the
// topic's floor, which is the core's and holds against every plugin.
func (q *question) oldEnough(n int) int {
	if q.own() {
		return n
	}
	for i := range n {
		if s := q.Segments[i]; q.NowMS-max(s.MaxTimestampMS, s.ModifiedMS) < q.minMS {
			return i
		}
	}
	return n
}

// rescue lets the broker's own rule decide about logs whose plugins gave no answer
// where the disk is about to be full: a full disk stops every partition on it.
func (s *Scheduler) rescue(page []question, said map[string]answers) {
	endangered := func(q *question) bool {
		return q.DiskTotal > 0 && float64(q.DiskFree) < rescueFree*float64(q.DiskTotal) &&
			slices.ContainsFunc(q.rules, func(name string) bool { return said[name].silent })
	}
	n := 0
	for i := range page {
		if endangered(&page[i]) {
			n++
		}
	}
	if n == 0 {
		return
	}
	s.rescued.Add(uint64(n))
	s.o.Log.Warn("the disk is nearly full and retention plugins are silent: time and size decide", "logs", n)
	own := s.consult(ownRule, page, endangered)
	if own.silent {
		return
	}
	maps.Copy(own.verdicts, said[ownRule].verdicts)
	said[ownRule] = own
	for i := range page {
		if endangered(&page[i]) {
			page[i].rules = ownRules
		}
	}
}

// rescueFree is the share of a disk that must be free, or silent plugins are passed
// over.
const rescueFree = 0.05

// fail notes that a rule gave no answer.
func (s *Scheduler) fail(name string, logs int, err error) {
	if s.ctx.Err() != nil {
		return // the broker stops
	}
	s.failed.Add(1)
	if name == ownRule {
		name = "time-size"
	}
	s.o.Log.Error("retention gave no answer; everything is kept", slog.String("plugin", name), slog.Int("logs", logs), slog.Any("err", err))
}
