package reconcile

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

const self kafka.BrokerID = 1

// patience is how long an image may take: thousands of folders on a disk that is busy.
const patience = 5 * time.Minute

// control publishes the images that a test makes. Nothing else of Control is used.
type control struct {
	meta.Control
	p *meta.Publisher
}

func (c *control) Image() *meta.Image                      { return c.p.Image() }
func (c *control) Watch(f func(*meta.Image)) (stop func()) { return c.p.Watch(f) }

// fullFS has no space for new folders while full.
type fullFS struct {
	vfs.FS
	full atomic.Bool
}

func (f *fullFS) MkdirAll(name string, perm fs.FileMode) error {
	if f.full.Load() {
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.MkdirAll(name, perm)
}

// broker is a table of roles with its own disk and cluster.
type broker struct {
	t       *testing.T
	root    string
	control *control
	clock   *clock.Manual
	fs      *fullFS
	// moreDirs are log directories beside root.
	moreDirs []string
	// followers are told what to fetch; nil: nobody is.
	followers Followers
	dirs      *logdir.Set
	purg      *purgatory.Purgatory
	roles     *Roles
}

// newBroker makes a broker that has not started.
func newBroker(t *testing.T) *broker {
	return &broker{t: t, root: t.TempDir(), fs: &fullFS{FS: vfs.OS()}, control: &control{p: meta.NewPublisher(meta.Empty("c"))}}
}

// start opens what the image says.
func (b *broker) start() {
	b.t.Helper()
	b.clock = clock.NewManual(time.UnixMilli(1_700_000_000_000))
	dirs, err := logdir.Open(logdir.Options{FS: b.fs, Dirs: append([]string{b.root}, b.moreDirs...), ClusterID: "c", NodeID: self, Clock: b.clock, ReserveBytes: -1})
	if err != nil {
		b.t.Fatal(err)
	}
	b.dirs = dirs
	b.purg = purgatory.New(purgatory.Options{Clock: b.clock})
	b.roles = New(Options{
		Self: self, Control: b.control, FS: b.fs, Dirs: dirs, Purgatory: b.purg, Config: config.NewResolver(nil).For(self),
		Files: commitlog.NewFiles(0, nil), Producers: commitlog.NewProducerBudget(0, nil), Clock: b.clock,
		Followers: b.followers,
	})
	if err := b.roles.Start(context.Background()); err != nil {
		b.t.Fatal(err)
	}
}

// stop closes the broker.
func (b *broker) stop(clean bool) {
	b.t.Helper()
	b.purg.Close()
	if err := b.roles.Close(clean); err != nil {
		b.t.Fatal(err)
	}
	if err := b.dirs.Close(clean, 0); err != nil {
		b.t.Fatal(err)
	}
}

// change publishes the next image and waits until it is in effect.
func (b *broker) change(f func(*meta.Edit)) {
	b.t.Helper()
	img := b.control.Image()
	e := img.Edit(img.Index + 1)
	f(e)
	next := e.Image()
	b.control.p.Publish(next)
	if b.roles != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.roles.WaitApplied(ctx, next.Index); err != nil {
			b.t.Fatal(err)
		}
	}
}

// topic is a topic whose partitions this broker leads.
func topic(name string, partitions int) *meta.Topic {
	t := &meta.Topic{Name: name, ID: kafka.NewTopicID()}
	for range partitions {
		t.Partitions = append(t.Partitions, meta.Partition{
			Replicas: []kafka.BrokerID{self}, ISR: []kafka.BrokerID{self}, Leader: self, LeaderEpoch: 4,
		})
	}
	return t
}

// append writes one record.
func (b *broker) append(topic string, number int32) partition.Appended {
	b.t.Helper()
	p, code := b.roles.ByName(topic, number)
	if code != kafka.None {
		b.t.Fatalf("%s-%d: %s", topic, number, code)
	}
	rb := record.NewBuilder(record.PlainOptions(record.None))
	rb.Append(1, []byte("k"), []byte("v"), nil)
	return p.Append(&partition.Append{Batch: rb.Bytes(), Acks: 1, Version: 9})
}

// names are the entries of the log directory that contain part.
func (b *broker) names(part string) (found []string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.root)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), part) {
			found = append(found, e.Name())
		}
	}
	return found
}

func TestTopicLife(t *testing.T) {
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	first := topic("t", 2)
	if _, code := b.roles.ByName("t", 0); code != kafka.ErrUnknownTopicOrPartition {
		t.Fatalf("before it exists: %s", code)
	}
	b.change(func(e *meta.Edit) { e.PutTopic(first) })
	if out := b.append("t", 1); out.Code != kafka.None || out.Base != 0 {
		t.Fatalf("append: %+v", out)
	}
	if _, code := b.roles.ByID(first.ID, 2); code != kafka.ErrUnknownTopicOrPartition {
		t.Fatalf("partition out of range: %s", code)
	}
	if _, code := b.roles.ByID(kafka.NewTopicID(), 0); code != kafka.ErrUnknownTopicID {
		t.Fatalf("unknown id: %s", code)
	}
	p, _ := b.roles.ByID(first.ID, 0)
	if p.Role().Epoch != 4 || !p.Role().Leading {
		t.Fatalf("role %+v", p.Role())
	}
	if epoch, end, _ := p.EpochEnd(4, -1); epoch != 4 || end != 0 {
		t.Fatalf("the epoch was not begun: (%d, %d)", epoch, end)
	}

	grown := *first
	grown.Partitions = append(grown.Partitions[:2:2], topic("", 1).Partitions...)
	b.change(func(e *meta.Edit) { e.PutTopic(&grown) })
	if same, _ := b.roles.ByName("t", 0); same != p {
		t.Fatal("growing the topic replaced a partition")
	}
	if out := b.append("t", 2); out.Code != kafka.None {
		t.Fatalf("append to the new partition: %s", out.Code)
	}

	b.change(func(e *meta.Edit) { e.RemoveTopic("t") })
	if _, code := b.roles.ByName("t", 1); code != kafka.ErrUnknownTopicOrPartition {
		t.Fatalf("after the deletion: %s", code)
	}
	for _, name := range b.names("t-") {
		if !strings.HasSuffix(name, "-delete") {
			t.Fatalf("%s is left of the deleted topic", name)
		}
	}

	b.change(func(e *meta.Edit) { e.PutTopic(topic("t", 1)) })
	if out := b.append("t", 0); out.Code != kafka.None || out.Base != 0 {
		t.Fatalf("the topic that was made anew starts at %d, %s", out.Base, out.Code)
	}
	if _, code := b.roles.ByID(first.ID, 0); code != kafka.ErrUnknownTopicID {
		t.Fatalf("the old id: %s", code)
	}
}

func TestElsewhereIsNotLeader(t *testing.T) {
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	far := topic("far", 1)
	far.Partitions[0].Replicas, far.Partitions[0].ISR, far.Partitions[0].Leader = []kafka.BrokerID{2}, []kafka.BrokerID{2}, 2
	b.change(func(e *meta.Edit) { e.PutTopic(far) })
	if _, code := b.roles.ByName("far", 0); code != kafka.ErrNotLeaderOrFollower {
		t.Fatalf("a partition of another broker: %s", code)
	}
	if len(b.names("far-")) != 0 {
		t.Fatal("a directory was made for another broker's partition")
	}
}

func TestConfigChangesAreSwappedIn(t *testing.T) {
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	b.change(func(e *meta.Edit) { e.PutTopic(topic("t", 1)); e.PutTopic(topic("u", 1)) })
	p, _ := b.roles.ByName("t", 0)
	u, _ := b.roles.ByName("u", 0)
	if p.Config() != u.Config() {
		t.Fatal("topics without values of their own do not share their configuration")
	}
	resource := meta.Resource{Type: meta.ResourceTopic, Name: "t"}
	b.change(func(e *meta.Edit) { e.SetConfig(resource, map[string]string{"max.message.bytes": "64"}) })
	if got := p.Config().Topic.MaxMessageBytes; got != 64 || u.Config().Topic.MaxMessageBytes == 64 {
		t.Fatalf("max.message.bytes %d and %d, want 64 for one topic only", got, u.Config().Topic.MaxMessageBytes)
	}
	if out := b.append("t", 0); out.Code != kafka.ErrMessageTooLarge {
		t.Fatalf("append over the new limit: %s", out.Code)
	}
	b.change(func(e *meta.Edit) { e.SetConfig(resource, nil) })
	if p.Config() != u.Config() {
		t.Fatal("the value was not taken back")
	}
}

func TestRestartKeepsDataAndSetsStraysAside(t *testing.T) {
	b := newBroker(t)
	b.start()
	kept, lost := topic("kept", 1), topic("lost", 1)
	b.change(func(e *meta.Edit) { e.PutTopic(kept); e.PutTopic(lost) })
	b.append("kept", 0)
	b.append("lost", 0)
	b.stop(true)
	b.roles = nil
	b.change(func(e *meta.Edit) { e.RemoveTopic("lost") })
	b.start()
	if out := b.append("kept", 0); out.Base != 1 {
		t.Fatalf("base %d after a restart, want 1", out.Base)
	}
	if got := b.names("lost-0."); len(got) != 1 || !strings.HasSuffix(got[0], "-stray") {
		t.Fatalf("the unknown partition became %v, want one -stray", got)
	}
	if _, err := os.Stat(filepath.Join(b.root, b.names("lost-0.")[0], "00000000000000000000.log")); err != nil {
		t.Fatalf("its data: %v", err)
	}
	b.stop(true)

	b.roles = nil
	again := topic("kept", 1) // another id: made anew while the broker was away
	b.change(func(e *meta.Edit) { e.RemoveTopic("kept"); e.PutTopic(again) })
	b.start()
	if out := b.append("kept", 0); out.Base != 0 {
		t.Fatalf("base %d in the topic that was made anew, want 0", out.Base)
	}
	if got := b.names("kept-0."); len(got) != 1 || !strings.HasSuffix(got[0], "-stray") {
		t.Fatalf("the old topic's partition became %v, want one -stray", got)
	}
	b.stop(true)
}

// LOG-12: a topic that was made on a full disk is offline until there is space.
func TestTopicMadeOnAFullDiskIsTriedAgain(t *testing.T) {
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	b.fs.full.Store(true)
	b.change(func(e *meta.Edit) { e.PutTopic(topic("t", 1)) })
	if out := b.append("t", 0); out.Code != kafka.ErrKafkaStorageError {
		t.Fatalf("append without a log: %s", out.Code)
	}
	if b.dirs.Dirs()[0].Offline() != nil {
		t.Fatal("a full disk took the directory offline")
	}
	b.fs.full.Store(false)
	b.clock.Advance(time.Second)
	b.change(func(e *meta.Edit) { e.SetFeature("x", 1) }) // any image
	if out := b.append("t", 0); out.Code != kafka.None {
		t.Fatalf("append once there is space: %s", out.Code)
	}
}

func TestUncleanRestartRecovers(t *testing.T) {
	b := newBroker(t)
	b.start()
	b.change(func(e *meta.Edit) { e.PutTopic(topic("t", 3)) })
	for range 5 {
		b.append("t", 1)
	}
	b.stop(false)
	b.roles = nil
	b.start()
	defer func() { b.stop(true) }()
	rec := &b.dirs.Recovery
	if rec.LogsTotal.Load() != 3 || rec.LogsDone.Load() != 3 || rec.BytesDone.Load() == 0 || rec.BytesDone.Load() != rec.BytesTotal.Load() {
		t.Fatalf("recovery: %d of %d logs, %d of %d bytes", rec.LogsDone.Load(), rec.LogsTotal.Load(), rec.BytesDone.Load(), rec.BytesTotal.Load())
	}
	if out := b.append("t", 1); out.Base != 5 {
		t.Fatalf("base %d after recovery, want 5", out.Base)
	}
}

// TestCrashOfANewLogLeavesNoHole: of a log that no checkpoint speaks of yet, what follows
// a segment that a power failure took goes, too. A hole would be taken for records.
func TestCrashOfANewLogLeavesNoHole(t *testing.T) {
	b := newBroker(t)
	b.start()
	b.change(func(e *meta.Edit) { e.PutTopic(topic("t", 1)) })
	p, _ := b.roles.ByName("t", 0)
	for range 3 {
		b.append("t", 0)
		b.append("t", 0)
		if err := p.Log().Roll(); err != nil {
			t.Fatal(err)
		}
	}
	b.stop(false)
	b.roles = nil
	for _, file := range []string{"00000000000000000002.log", "00000000000000000002.index", "00000000000000000002.timeindex"} {
		if err := os.Remove(filepath.Join(b.root, "t-0", file)); err != nil {
			t.Fatal(err)
		}
	}
	b.start()
	defer func() { b.stop(true) }()
	if out := b.append("t", 0); out.Base != 2 {
		t.Fatalf("the log goes on at %d, want 2, where the hole was", out.Base)
	}
}

func TestWaitAppliedEndsWithItsContext(t *testing.T) {
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.roles.WaitApplied(ctx, math.MaxUint64); err == nil {
		t.Fatal("an index that never comes was waited for without an error")
	}
}

// The cost of 2,000 idle partitions: goroutines none, memory a few KB each. It is
// logged; the bound is generous so that it only catches a change of kind.
func TestIdlePartitionsAreCheap(t *testing.T) {
	const topics, each = 20, 100
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	goroutines := runtime.NumGoroutine()
	before := heap()
	began := time.Now()
	b.change(func(e *meta.Edit) {
		for i := range topics {
			e.PutTopic(topic(fmt.Sprintf("idle-%d", i), each))
		}
	})
	took := time.Since(began)
	perPartition := (heap() - before) / (topics * each)
	t.Logf("%d partitions: made in %v, %d bytes of heap each", topics*each, took, perPartition)
	if got := runtime.NumGoroutine(); got > goroutines {
		t.Errorf("%d goroutines more for idle partitions", got-goroutines)
	}
	if perPartition > 8<<10 {
		t.Errorf("%d bytes of heap per idle partition, want at most 8 KiB", perPartition)
	}
}

// heap is the live heap in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
