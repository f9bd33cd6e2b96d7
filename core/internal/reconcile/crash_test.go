package reconcile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// owed is what a topic's log must hold after a crash.
type owed struct{ acknowledged, synced int }

// moment is a disk when the power goes, with the cluster's image and what is owed.
type moment struct {
	what  string
	how   vfs.CrashOptions
	disk  *vfs.Mem
	image *meta.Image
	owed  map[kafka.TopicID]owed
}

// life is a broker on a disk that a crash is tried on before every change.
type life struct {
	*broker
	disk *vfs.Mem

	mu      sync.Mutex
	doing   string
	count   int
	owed    map[kafka.TopicID]owed
	moments []moment
}

// newLife makes a broker on a memory disk that has not started.
func newLife(t *testing.T) *life {
	l := &life{disk: vfs.NewMem(), owed: map[kafka.TopicID]owed{}}
	l.broker = newBroker(t)
	l.broker.root, l.broker.fs = "/data", &fullFS{FS: l.disk}
	if err := errors.Join(l.disk.MkdirAll("/data", 0o755), l.disk.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return l
}

// watch collects the disks that crashes leave from now on.
func (l *life) watch() {
	l.disk.OnOp(func(op vfs.Op) {
		if !op.Kind.Changes() && op.Kind != vfs.OpOpen {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count++
		random := rand.New(rand.NewPCG(uint64(l.count), 1))
		for _, how := range []vfs.CrashOptions{{KeepUnsynced: 0}, {KeepUnsynced: 1}, {KeepUnsynced: 0.6, Torn: true, Rand: random}} {
			m := moment{what: fmt.Sprintf("change %d, %s %s in %q, %.1f kept", l.count, op.Kind, op.Name, l.doing, how.KeepUnsynced),
				how: how, disk: l.disk.Crash(how), image: l.control.Image(), owed: map[kafka.TopicID]owed{}}
			for id, o := range l.owed {
				m.owed[id] = o
			}
			l.moments = append(l.moments, m)
		}
	})
}

// step names what happens next.
func (l *life) step(name string, do func()) {
	l.mu.Lock()
	l.doing = name
	l.mu.Unlock()
	do()
}

// write appends n records that carry the topic's id.
func (l *life) write(t *meta.Topic, n int) {
	l.t.Helper()
	p, _ := l.roles.ByID(t.ID, 0)
	for range n {
		l.mu.Lock()
		at := l.owed[t.ID].acknowledged
		l.mu.Unlock()
		rb := record.NewBuilder(record.PlainOptions(record.None))
		rb.Append(1, []byte(t.ID.String()), fmt.Appendf(nil, "%0100d", at), nil)
		if out := p.Append(&partition.Append{Batch: rb.Bytes(), Acks: 1, Version: 9}); out.Code != kafka.None || out.Base != kafka.Offset(at) {
			l.t.Fatalf("append %d: %+v", at, out)
		}
		l.mu.Lock()
		l.owed[t.ID] = owed{at + 1, l.owed[t.ID].synced}
		l.mu.Unlock()
	}
}

// sync flushes what was written.
func (l *life) sync(t *meta.Topic) {
	l.t.Helper()
	p, _ := l.roles.ByID(t.ID, 0)
	end, err := p.Log().Sync()
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed[t.ID] = owed{l.owed[t.ID].acknowledged, int(end)}
}

// verify starts a broker on the disk of a moment, reads what it has, and writes.
func (m *moment) verify(t *testing.T) error {
	b := newBroker(t)
	b.root, b.fs, b.control = "/data", &fullFS{FS: m.disk}, &control{p: meta.NewPublisher(m.image)}
	b.start()
	defer b.stop(true)
	topic, ok := m.image.Topic("t")
	if !ok {
		return nil
	}
	p, _ := b.roles.ByID(topic.ID, 0)
	if p == nil || p.Log() == nil {
		return fmt.Errorf("the log was not opened: %v", p.Offline())
	}
	least := m.owed[topic.ID].synced
	if m.how.KeepUnsynced == 1 { // the process was killed, the machine was not
		least = m.owed[topic.ID].acknowledged
	}
	if end := int(p.Log().EndOffset()); end < least {
		return fmt.Errorf("%d records are left, %d were promised", end, least)
	}
	if err := records(p, topic.ID.String()); err != nil {
		return err
	}
	if out := b.append("t", 0); out.Code != kafka.None {
		return fmt.Errorf("append: %s", out.Code)
	}
	return nil
}

// successor is the moment in which the cluster has deleted the topic and made it
// anew, and the broker has not heard of it: its disk is the old topic's.
func (m *moment) successor() *moment {
	e := m.image.Edit(m.image.Index + 1)
	if _, ok := m.image.Topic("t"); ok {
		e.RemoveTopic("t")
	}
	e.PutTopic(topic("t", 1))
	return &moment{how: m.how, disk: m.disk.Crash(vfs.CrashOptions{}), image: e.Image(), owed: map[kafka.TopicID]owed{}}
}

// records checks that a log holds records of its own topic only, in order.
func records(p *partition.Partition, id string) error {
	for at := kafka.Offset(0); at < p.Log().EndOffset(); {
		s, err := p.Log().Read(at, commitlog.ReadOptions{MaxBytes: 1 << 20, Upper: p.Log().EndOffset(), MinOne: true})
		if err != nil || s.Range == nil {
			return fmt.Errorf("read at %d: %v, %v", at, s, err)
		}
		raw, err := s.Range.ReadAll(nil)
		s.Range.Release()
		if err != nil {
			return err
		}
		for len(raw) > 0 {
			b, rest, err := record.Next(raw)
			if err != nil {
				return err
			}
			it := b.Records(record.DecompressLimits{})
			for it.Next() {
				if r := it.Record(); string(r.Key) != id || string(r.Value) != fmt.Sprintf("%0100d", at) {
					return fmt.Errorf("offset %d is record %q of topic %s, want one of %s", at, r.Value, r.Key, id)
				}
				at++
			}
			it.Close()
			raw = rest
		}
	}
	return nil
}

// TestCrashWhileATopicIsMadeAnew cuts the power before every change of the disk
// while a topic is written, deleted, made anew with less data, and the broker stops
// and starts. Otherwise checkpoints of the old log could make damage of the new
// one's torn tail or drop its data, old data could come back as the new topic's, and
// a directory could be marked clean that is not.
func TestCrashWhileATopicIsMadeAnew(t *testing.T) {
	l := newLife(t)
	old, anew := topic("t", 1), topic("t", 1)
	l.start()
	l.watch()
	l.step("create", func() { l.change(func(e *meta.Edit) { e.PutTopic(old) }) })
	l.step("write", func() { l.write(old, 12) })
	l.step("sync", func() { l.sync(old) })
	l.step("roll", func() {
		p, _ := l.roles.ByID(old.ID, 0)
		if err := p.Log().Roll(); err != nil {
			t.Fatal(err)
		}
	})
	l.step("checkpoint", func() { l.dirs.Checkpoint() })
	l.step("write on", func() { l.write(old, 2) })
	l.step("delete", func() { l.change(func(e *meta.Edit) { e.RemoveTopic("t") }) })
	l.step("create anew", func() { l.change(func(e *meta.Edit) { e.PutTopic(anew) }) })
	l.step("write anew", func() { l.write(anew, 3) })
	l.step("sync anew", func() { l.sync(anew) })
	l.step("write on anew", func() { l.write(anew, 2) })
	l.step("stop", func() { l.stop(true) })
	l.step("start", func() { l.start() })
	l.step("write after the start", func() { l.write(anew, 2) })
	l.step("kill", func() { l.stop(false) })
	l.step("start after the kill", func() { l.start() })
	l.step("stop again", func() { l.stop(true) })
	l.disk.OnOp(nil)
	if l.count < 60 {
		t.Fatalf("only %d moments to crash at", l.count)
	}
	for _, m := range l.moments {
		if err := m.successor().verify(t); err != nil {
			t.Errorf("%s, for a topic made later: %v", m.what, err)
		}
		if err := m.verify(t); err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
	}
	t.Logf("%d moments, %d disks", l.count, len(l.moments))
}
