package api

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/wire"
)

// rigSelf is the broker of the rig.
const rigSelf kafka.BrokerID = 1

// imageControl has an image that the test made, and blocks of producer ids.
type imageControl struct {
	blockControl
	p *meta.Publisher
}

func (c *imageControl) Image() *meta.Image                      { return c.p.Image() }
func (c *imageControl) Watch(f func(*meta.Image)) (stop func()) { return c.p.Watch(f) }

// dataRig is an API over partitions on a real file system, with a clock that the
// test moves.
type dataRig struct {
	t     testing.TB
	a     *API
	clock *clock.Manual
	ids   map[string]kafka.TopicID
}

// newDataRig makes topics (name: partitions) that the rig's broker leads with
// epoch 2.
func newDataRig(t testing.TB, topics map[string]int, configs map[string]map[string]string) *dataRig {
	t.Helper()
	d := &dataRig{t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), ids: map[string]kafka.TopicID{}}
	e := meta.Empty("c").Edit(1)
	e.PutBroker(&meta.Broker{ID: rigSelf, Endpoints: []meta.Endpoint{{Listener: "TEST", Host: "h", Port: 9}}})
	for name, n := range topics {
		mt := &meta.Topic{Name: name, ID: kafka.NewTopicID()}
		for range n {
			mt.Partitions = append(mt.Partitions, meta.Partition{
				Replicas: []kafka.BrokerID{rigSelf}, ISR: []kafka.BrokerID{rigSelf}, Leader: rigSelf, LeaderEpoch: 2,
			})
		}
		d.ids[name] = mt.ID
		e.PutTopic(mt)
		e.SetConfig(meta.Resource{Type: meta.ResourceTopic, Name: name}, configs[name])
	}
	far := &meta.Topic{Name: "far", ID: kafka.NewTopicID(), Partitions: []meta.Partition{{
		Replicas: []kafka.BrokerID{7}, ISR: []kafka.BrokerID{7}, Leader: 7, LeaderEpoch: 5,
	}}}
	d.ids["far"] = far.ID
	e.PutTopic(far)
	e.PutBroker(&meta.Broker{ID: 7, Endpoints: []meta.Endpoint{{Listener: "TEST", Host: "seven", Port: 77}}})
	control := &imageControl{p: meta.NewPublisher(e.Image())}

	fsys, reg := vfs.OS(), metrics.NewRegistry()
	dirs, err := logdir.Open(logdir.Options{FS: fsys, Dirs: []string{t.TempDir()}, ClusterID: "c", NodeID: rigSelf, Clock: d.clock, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	purg := purgatory.New(purgatory.Options{Clock: d.clock})
	resolver := config.NewResolver(nil).For(rigSelf)
	roles := reconcile.New(reconcile.Options{
		Self: rigSelf, Control: control, FS: fsys, Dirs: dirs, Purgatory: purg, Config: resolver,
		Files: commitlog.NewFiles(0, reg), Producers: commitlog.NewProducerBudget(0, reg), Clock: d.clock, Metrics: reg,
	})
	if err := roles.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	d.a = newRigAPI(Deps{
		Self: rigSelf, Control: control, Roles: roles, Purgatory: purg, Dirs: dirs,
		Config: func() *config.Resolver { return resolver }, Clock: d.clock, Log: slog.New(slog.DiscardHandler), Metrics: reg,
	})
	t.Cleanup(func() {
		purg.Close()
		d.a.Close()
		_ = roles.Close(true)
		_ = dirs.Close(true, 0)
	})
	return d
}

// newRigAPI makes an API with nothing but the data plane.
func newRigAPI(deps Deps) *API {
	a := &API{deps: deps}
	a.data = newDataPlane(&a.deps)
	a.background, a.logins, a.pushes = newBackground(new(metrics.Gauge)), newBackground(new(metrics.Gauge)), newBackground(new(metrics.Gauge))
	return a
}

// call sends a message to a handler and returns the decoded answer.
func call[R kmsg.Response](d *dataRig, handle func(*wire.Request), m kmsg.Request) R {
	d.t.Helper()
	r, rec := wire.Record(m, "client")
	handle(r)
	return answerOf[R](d, m, rec)
}

// answerOf waits for an answer and decodes it.
func answerOf[R kmsg.Response](d *dataRig, m kmsg.Request, rec *wire.Recorder) R {
	d.t.Helper()
	resp := m.ResponseKind()
	if err := rec.Message(resp); err != nil {
		d.t.Fatalf("answer to %T: %v", m, err)
	}
	return resp.(R)
}

// records builds the bytes of one batch of n records.
func records(n int) []byte {
	b := record.NewBuilder(record.PlainOptions(record.None))
	for i := range n {
		b.Append(int64(i), nil, []byte("value"), nil)
	}
	return b.Bytes()
}

// produceOf makes a produce request (version 9) of one topic; data[i] goes to
// partition i.
func produceOf(acks int16, topic string, data ...[]byte) *kmsg.ProduceRequest {
	m := kmsg.NewPtrProduceRequest()
	m.Version, m.Acks, m.TimeoutMillis = 9, acks, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	for i, b := range data {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), b
		t.Partitions = append(t.Partitions, p)
	}
	m.Topics = append(m.Topics, t)
	return m
}

// mustProduce appends one batch to partition 0 of a topic.
func (d *dataRig) mustProduce(topic string, n int) {
	d.t.Helper()
	resp := call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, topic, records(n)))
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
		d.t.Fatalf("produce: %s", kafka.ErrorCode(code))
	}
}
