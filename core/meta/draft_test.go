package meta

import (
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// trio is a cluster of three brokers with one topic of many partitions that all of
// them hold.
func trio(partitions int) *Image {
	e := Empty("c").Edit(1)
	for id := kafka.BrokerID(1); id <= 3; id++ {
		e.PutBroker(&Broker{ID: id, Epoch: kafka.BrokerEpoch(id)})
	}
	t := &Topic{Name: "t", ID: kafka.TopicID{1}}
	for range partitions {
		t.Partitions = append(t.Partitions, Partition{Replicas: ids(1, 2, 3), ISR: ids(1, 2, 3), Leader: 1, LastKnownLeader: kafka.NoBroker})
	}
	e.PutTopic(t)
	return e.Image()
}

// done writes a draft into the next image.
func done(i *Image, d *Draft) *Image {
	e := i.Edit(i.Index + 1)
	d.Put(e)
	return e.Image()
}

// A draft sees what it did, and its image does not.
func TestDraftSeesItsOwnChanges(t *testing.T) {
	first := trio(2)
	d := first.Draft()
	if d.Changed() {
		t.Error("a new draft is changed")
	}
	for _, err := range []*kafka.Error{d.Fence(1, 1), d.Fence(2, 2), d.Fence(3, 3), d.Unfence(2, 2)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	errs := d.ElectLeaders(Preferred, nil)
	if len(errs) != 2 || errs[0] == nil || errs[0].Code != kafka.ErrPreferredLeaderNotAvailable {
		t.Errorf("elections among nobody: %v", errs)
	}
	next := done(first, d)
	was, _ := first.Topic("t")
	is, _ := next.Topic("t")
	if got := picture(&was.Partitions[0]); got != "isr [1 2 3] elr [] leader 1 epoch 0/0" || first.Leaderless() != 0 {
		t.Errorf("the image under the draft became %s", got)
	}
	if got := picture(&is.Partitions[1]); got != "isr [] elr [3] leader -1 epoch 3/3 last 3" || next.Leaderless() != 2 {
		t.Errorf("the draft led to %s with %d leaderless, want nobody to lead but the eligible 3", got, next.Leaderless())
	}
	if b, _ := next.Broker(2); b.Fenced {
		t.Error("2 is fenced")
	}
}

// Many changes of one topic copy it once.
func TestDraftCopiesATopicOnce(t *testing.T) {
	const partitions = 1000
	i := trio(partitions)
	changes := make([]ISRChange, partitions)
	for n := range changes {
		changes[n] = ISRChange{PartitionID: PartitionID{kafka.TopicID{1}, int32(n)}, ISR: []ISRReplica{{1, -1}, {2, -1}}}
	}
	allocs := testing.AllocsPerRun(5, func() {
		d := i.Draft()
		if r, err := d.AlterISR(1, 1, changes); err != nil || r[partitions-1].Err != nil || r[partitions-1].State.PartitionEpoch != 1 {
			t.Fatal(err, r[partitions-1])
		}
	})
	if allocs > partitions+100 { // each has a new ISR
		t.Errorf("%v allocations for %d changes of one topic", allocs, partitions)
	}
}

// Totals follow topics that come, change and go.
func TestTotals(t *testing.T) {
	i := trio(3)
	moving := Partition{Replicas: ids(1, 2), Leader: 2, Adding: ids(1)}
	steps := []struct {
		do   func(*Edit)
		want totals
	}{
		{func(e *Edit) {
			e.PutTopic(&Topic{Name: "u", ID: kafka.TopicID{2}, Partitions: []Partition{{Leader: kafka.NoBroker}, {Leader: 1}, moving}})
		}, totals{partitions: 6, replicas: 11, leaderless: 1, unpreferred: 1, reassigning: 1}},
		{func(e *Edit) {
			e.PutTopic(&Topic{Name: "u", ID: kafka.TopicID{2}, Partitions: []Partition{{Replicas: ids(3), Leader: kafka.NoBroker}, {Leader: kafka.NoBroker}}})
		}, totals{partitions: 5, replicas: 10, leaderless: 2, unpreferred: 1}},
		{func(e *Edit) { e.RemoveTopic("u") }, totals{partitions: 3, replicas: 9}},
	}
	for n, s := range steps {
		e := i.Edit(i.Index + 1)
		s.do(e)
		if i = e.Image(); i.totals != s.want {
			t.Errorf("after step %d the totals are %+v, want %+v", n, i.totals, s.want)
		}
	}
	if i.PartitionCount() != 3 || i.ReplicaCount() != 9 || i.Leaderless() != 0 || i.Unpreferred() != 0 || i.Reassigning() != 0 {
		t.Errorf("told are %d, %d, %d, %d, %d", i.PartitionCount(), i.ReplicaCount(), i.Leaderless(), i.Unpreferred(), i.Reassigning())
	}
}

// The lowest min.insync.replicas that a leader may go by counts for a topic without
// its own: a broker's dynamic one, then the cluster's, then that of its file.
func TestMinISROfTopicsWithoutTheirOwn(t *testing.T) {
	broker := func(name, value string) func(*Draft) {
		return func(d *Draft) {
			d.Configure(Resource{ResourceBroker, name}, map[string]string{MinISRConfig: value})
		}
	}
	e := trio(1).Edit(2)
	for id := kafka.BrokerID(1); id <= 3; id++ {
		e.PutBroker(&Broker{ID: id, Epoch: kafka.BrokerEpoch(id), MinISR: 4})
	}
	i := e.Image()
	topic, _ := i.Topic("t")
	for _, c := range []struct {
		says string
		do   []func(*Draft)
		want int
	}{
		{"files", nil, 4},
		{"one file does not say it", []func(*Draft){func(d *Draft) { d.brokers[2] = &Broker{ID: 2}; d.forgetRules() }}, 1},
		{"the cluster", []func(*Draft){broker("", "3")}, 3},
		{"a broker", []func(*Draft){broker("", "3"), broker("2", "2")}, 2},
		{"who is not there does not count", []func(*Draft){broker("", "3"), broker("9", "2")}, 3},
		{"the topic", []func(*Draft){broker("2", "1"), func(d *Draft) {
			d.Configure(Resource{ResourceTopic, "t"}, map[string]string{MinISRConfig: " 5 "})
		}}, 5},
	} {
		d := i.Draft()
		for _, do := range c.do {
			do(d)
		}
		if got := d.rulesOf(topic).minISR; got != c.want {
			t.Errorf("%s: %d, want %d", c.says, got, c.want)
		}
	}
}

// Who has no room leaves what another one in sync with room leads then, and nothing else.
func TestMayLeaveWithoutRoom(t *testing.T) {
	for _, c := range []struct {
		says   string
		isr    []kafka.BrokerID
		elr    []kafka.BrokerID
		leader kafka.BrokerID
		full   []kafka.BrokerID
		want   bool
	}{
		{"it leads", ids(1, 2, 3), nil, 1, ids(1), true},
		{"it follows", ids(1, 2, 3), nil, 2, ids(1), true},
		{"one other has room", ids(1, 2, 3), nil, 1, ids(1, 2), true},
		{"nobody has room", ids(1, 2, 3), nil, 1, ids(1, 2, 3), false},
		{"the leader has no room either", ids(1, 2, 3), nil, 2, ids(1, 2), false},
		{"the only one in sync", ids(1), nil, 1, ids(1), false},
		{"another is eligible only", ids(1), ids(2), 1, ids(1), false},
		{"it is not in sync", ids(2, 3), nil, 2, ids(1), false},
	} {
		e := trio(0).Edit(2)
		e.PutTopic(&Topic{Name: "t", ID: kafka.TopicID{1}, Partitions: []Partition{{Replicas: ids(1, 2, 3), ISR: c.isr, ELR: c.elr, Leader: c.leader, LastKnownLeader: kafka.NoBroker}}})
		e.SetConfig(Resource{ResourceTopic, "t"}, map[string]string{MinISRConfig: "2", UncleanElectionConfig: "true"})
		for _, id := range c.full {
			b, _ := e.next.Broker(id)
			e.PutBroker(&Broker{ID: b.ID, Epoch: b.Epoch, Full: true})
		}
		d, leave := e.Image().Draft(), ISRChange{PartitionID: PartitionID{Topic: kafka.TopicID{1}}, Full: true}
		if got := d.MayLeave(1, &leave); got != c.want {
			t.Errorf("%s: may leave %v, want %v", c.says, got, c.want)
		}
	}
}

// What a failed copy is told beforehand is what becomes of its change.
func TestMayLeave(t *testing.T) {
	for _, c := range []struct {
		says     string
		isr, elr []kafka.BrokerID
		fenced   kafka.BrokerID
		want     bool
	}{
		{"others are in sync", ids(1, 2, 3), nil, 0, true},
		{"the only one in sync", ids(1), nil, 0, false},
		{"another is eligible", ids(1), ids(2), 0, true},
		{"another is eligible and down", ids(1), ids(2), 2, false},
		{"it is eligible itself", ids(2), ids(1), 0, true},
		{"it does not count", ids(2), nil, 0, false},
	} {
		e := trio(0).Edit(2)
		e.PutTopic(&Topic{Name: "t", ID: kafka.TopicID{1}, Partitions: []Partition{{Replicas: ids(1, 2, 3), ISR: c.isr, ELR: c.elr, Leader: c.isr[0], LastKnownLeader: kafka.NoBroker}}})
		e.SetConfig(Resource{ResourceTopic, "t"}, map[string]string{MinISRConfig: "2"})
		if b, ok := e.next.Broker(c.fenced); ok {
			e.PutBroker(&Broker{ID: b.ID, Epoch: b.Epoch, Fenced: true})
		}
		d, leave := e.Image().Draft(), ISRChange{PartitionID: PartitionID{Topic: kafka.TopicID{1}}, Failed: true}
		if got := d.MayLeave(1, &leave); got != c.want || d.Changed() {
			t.Errorf("%s: may leave %v, want %v; changed by the question: %v", c.says, got, c.want, d.Changed())
		}
		if r, err := d.AlterISR(1, 1, []ISRChange{leave}); err != nil || r[0].Err != nil || d.Changed() != c.want {
			t.Errorf("%s: leaving changed %v, want %v (%v)", c.says, d.Changed(), c.want, err)
		}
	}
	if trio(1).Draft().MayLeave(1, &ISRChange{PartitionID: PartitionID{Topic: kafka.TopicID{9}}, Failed: true}) {
		t.Error("it may leave what is not there")
	}
}
