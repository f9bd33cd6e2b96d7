package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a group that is closed with the test at the latest.
func open(t testing.TB, dir string) *Group {
	t.Helper()
	g, err := Open(t.Context(), Options{Dir: dir, NodeID: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// register makes broker 1 known.
func register(t testing.TB, g *Group) {
	t.Helper()
	if _, err := g.RegisterBroker(t.Context(), meta.Registration{ID: 1, CleanShutdown: true}); err != nil {
		t.Fatal(err)
	}
}

// create makes topics of one partition.
func create(t testing.TB, g *Group, names ...string) {
	t.Helper()
	var topics []meta.NewTopic
	for _, name := range names {
		topics = append(topics, meta.NewTopic{Name: name, PartitionCount: 1, ReplicationFactor: 1})
	}
	results, err := g.CreateTopics(t.Context(), topics, false)
	if err != nil {
		t.Fatal(err)
	}
	for n, r := range results {
		if r.Err != nil {
			t.Fatalf("create %s: %v", names[n], r.Err)
		}
		if _, ok := g.Image().TopicByID(r.Topic.ID); !ok {
			t.Fatalf("topic %s was made, but the image does not have it", names[n])
		}
	}
}

// A node that votes alone leads without waiting for a timeout to run out. What the disk
// and the processor take is no time of the bubble.
func TestStartIsFast(t *testing.T) {
	dir := t.TempDir() // outlives the groups
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"empty directory", "existing directory"} {
			start := time.Now()
			g := open(t, dir)
			if err := g.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took >= heartbeatTimeout {
				t.Errorf("%s: leader after %v, want no wait for a timeout, which is %v", name, took, heartbeatTimeout)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestImageIsThereBeforeTheElection(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	register(t, g)
	create(t, g, "a", "b")
	want := g.Image()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDir(dir, newRaftLogger(g.options.Log))
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	m := newMachine() // no raft at all
	members, err := again.members()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.replay(again, members, votesAlone(members, g.serverID())); err != nil {
		t.Fatal(err)
	}
	got := m.images.Image()
	if got.Index != want.Index || got.ClusterID != want.ClusterID || got.TopicCount() != 2 {
		t.Errorf("image after replay: index %d cluster %s topics %d, want %d %s 2",
			got.Index, got.ClusterID, got.TopicCount(), want.Index, want.ClusterID)
	}
}

func TestStateSurvivesSnapshotAndReopen(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	register(t, g)
	for n := range closeSnapshot + 3 { // enough for a snapshot at the end
		create(t, g, fmt.Sprintf("topic-%d", n))
	}
	clusterID := g.Image().ClusterID
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*-*")); len(found) != 1 {
		t.Fatalf("snapshots after the end: %v, want one", found)
	}
	g = open(t, dir)
	create(t, g, "after")
	first, err := g.AllocateProducerIDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	g = open(t, dir)
	second, err := g.AllocateProducerIDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second.First != first.First+kafka.ProducerID(first.Count) {
		t.Errorf("producer ids after reopening start at %d, want %d: the same ids were handed out twice", second.First, first.First+kafka.ProducerID(first.Count))
	}
	if i := g.Image(); i.ClusterID != clusterID || i.TopicCount() != closeSnapshot+4 {
		t.Errorf("cluster %s with %d topics, want %s with %d", i.ClusterID, i.TopicCount(), clusterID, closeSnapshot+4)
	}
}

func TestManyTopicsAreOneEntry(t *testing.T) {
	g := open(t, t.TempDir())
	register(t, g)
	before := g.raft.LastIndex()
	var names []string
	for n := range 1000 {
		names = append(names, fmt.Sprintf("topic-%d", n))
	}
	start := time.Now()
	create(t, g, names...)
	t.Logf("1,000 topics in %v", time.Since(start))
	if n := g.raft.LastIndex() - before; n != 1 {
		t.Errorf("1,000 topics took %d entries of the log, want 1", n)
	}
}

func TestValidateOnlyDecidesNothing(t *testing.T) {
	g := open(t, "")
	register(t, g)
	before := g.raft.LastIndex()
	r, err := g.CreateTopics(t.Context(), []meta.NewTopic{
		{Name: "a", PartitionCount: 3, ReplicationFactor: 1}, {Name: "b", PartitionCount: 1, ReplicationFactor: 2}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if r[0].Topic == nil || r[0].Topic.ID != kafka.NoTopicID || len(r[0].Topic.Partitions) != 3 {
		t.Errorf("would-be topic %+v, want 3 partitions and no id", r[0].Topic)
	}
	if r[1].Err == nil || r[1].Err.Code != kafka.ErrInvalidReplicationFactor {
		t.Errorf("two replicas on one broker: %v, want INVALID_REPLICATION_FACTOR", r[1].Err)
	}
	if g.raft.LastIndex() != before || g.Image().TopicCount() != 0 {
		t.Errorf("validation wrote %d entries and made %d topics", g.raft.LastIndex()-before, g.Image().TopicCount())
	}
}

func TestConcurrentCommands(t *testing.T) {
	g := open(t, t.TempDir())
	register(t, g)
	var wait sync.WaitGroup
	blocks := make([]kafka.ProducerID, 16)
	for n := range blocks {
		wait.Go(func() {
			b, err := g.AllocateProducerIDs(t.Context())
			if err != nil {
				t.Error(err)
			}
			blocks[n] = b.First
		})
	}
	wait.Wait()
	seen := map[kafka.ProducerID]bool{}
	for _, b := range blocks {
		if seen[b] {
			t.Errorf("block %d was handed out twice", b)
		}
		seen[b] = true
	}
}

func TestDamageStopsTheStartAndNamesTheFile(t *testing.T) {
	made := t.TempDir()
	g := open(t, made)
	register(t, g)
	create(t, g, "a")
	create(t, g, "b")
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	segment := segmentFiles(made)[0]
	for name, damage := range map[string]func(b []byte) []byte{
		"bit in an entry": func(b []byte) []byte { return flip(b, []byte("\x61a")) },
		"log emptied":     func(b []byte) []byte { return make([]byte, len(b)) },
		"log cut":         func(b []byte) []byte { return b[:200] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, segment)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o644); err != nil {
				t.Fatal(err)
			}
			g, err := Open(t.Context(), Options{Dir: dir, NodeID: 1})
			if err == nil {
				topics := g.Image().TopicCount()
				g.Close()
				t.Fatalf("a damaged log was opened, with %d topics of 2", topics)
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v, want ErrCorrupt", err)
			}
			if want := segment; !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not name the file %s", err, want)
			}
			t.Log(err)
		})
	}
}

// What was answered must be in the files at that moment: they are copied while
// the group runs, as a process that is killed leaves them.
func TestKilledProcessLosesNothing(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	g := open(t, dir)
	register(t, g)
	create(t, g, "a", "b")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	g = open(t, killed)
	if _, ok := g.Image().Topic("b"); !ok {
		t.Error("topic b was acknowledged, but is gone after the kill")
	}
	create(t, g, "c")
}

func TestAnotherClusterIDIsRefused(t *testing.T) {
	dir := t.TempDir()
	g, err := Open(t.Context(), Options{Dir: dir, NodeID: 1, ClusterID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.Close()
	if g, err := Open(t.Context(), Options{Dir: dir, NodeID: 1, ClusterID: "two"}); err == nil {
		g.Close()
		t.Error("the log of cluster one was opened for cluster two")
	}
}

// A node that was given another's directory must find out before raft runs: not even a
// line of it is logged, and the log has no term more than before.
func TestAnotherNodeIDIsRefusedFirst(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	register(t, g)
	term := g.raft.CurrentTerm()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	_, err := Open(t.Context(), Options{Dir: dir, NodeID: 2, Log: slog.New(slog.NewTextHandler(&lines, nil))})
	if !errors.Is(err, ErrStranger) || !strings.Contains(err.Error(), "is of node 1, and this is node 2") {
		t.Fatalf("%v, want ErrStranger with both ids", err)
	}
	if lines.Len() > 0 {
		t.Errorf("logged beside the error: %s", &lines)
	}
	g = open(t, dir)
	if err := g.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := g.raft.CurrentTerm(); now != term+1 {
		t.Errorf("term %d after the next start, want %d", now, term+1)
	}
}

func TestClosedGroupRefuses(t *testing.T) {
	g := open(t, "")
	if err := g.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.AllocateProducerIDs(context.Background()); !errors.Is(err, kafka.ErrNotController.Err("")) {
		t.Errorf("after Close: %v, want NOT_CONTROLLER", err)
	}
}

func BenchmarkCommand(b *testing.B) {
	g := open(b, b.TempDir())
	register(b, g)
	for b.Loop() {
		if _, err := g.AllocateProducerIDs(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// flip changes a bit in the first place that has the pattern.
func flip(b, pattern []byte) []byte {
	if at := bytes.Index(b, pattern); at >= 0 {
		b[at+1] ^= 0x04
	}
	return b
}

// A text that is no UTF-8 from a client is refused, and neither this group nor one
// that starts from its log ends by it.
func TestUnreadableTextIsRefused(t *testing.T) {
	g := open(t, "")
	if err := g.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := g.CreateACLs(t.Context(), []auth.Rule{{Resource: auth.Topic, Name: "\xff"}})
	var refused *kafka.Error
	if !errors.As(err, &refused) || refused.Code != kafka.ErrInvalidRequest {
		t.Fatalf("%v, want INVALID_REQUEST", err)
	}
	if err := g.CreateACLs(t.Context(), []auth.Rule{{Resource: auth.Topic, Name: "a"}}); err != nil || g.Image().ACLCount() != 1 {
		t.Errorf("afterwards: %v with %d rules", err, g.Image().ACLCount())
	}
}
