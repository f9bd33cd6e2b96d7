package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cluster/nodetest"
)

// partitionDir is where a node keeps partition 0 of the topic t.
func partitionDir(n *nodetest.Node) string { return filepath.Join(n.DataDir(), "logs", "t-0") }

// moveFiles does what docs/moving-a-partition.md says. Both nodes are stopped.
func moveFiles(t *testing.T, from, to string, id bool) {
	t.Helper()
	for _, dir := range []string{to, from} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "partition.metadata" && !id {
				continue
			}
			if dir == to {
				err = os.Remove(filepath.Join(to, e.Name()))
			} else {
				var data []byte
				if data, err = os.ReadFile(filepath.Join(from, e.Name())); err == nil {
					err = os.WriteFile(filepath.Join(to, e.Name()), data, 0o644)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(filepath.Join(filepath.Dir(to), ".kafka_cleanshutdown")); err != nil {
		t.Fatal(err)
	}
}

// givenFiles starts two nodes, moves the files of t-0 from one to the other, and
// starts that one again.
func givenFiles(t *testing.T, records int, id bool) *nodetest.Node {
	t.Helper()
	giver, taker := nodetest.Start(t, nodetest.Options{}), nodetest.Start(t, nodetest.Options{})
	for _, n := range []*nodetest.Node{giver, taker} {
		if _, err := kadm.NewClient(n.Client()).CreateTopic(t.Context(), 1, 1, nil, "t"); err != nil {
			t.Fatal(err)
		}
	}
	giver.Kill() // so that the files have a later leader epoch than the taker's cluster
	c := giver.Client(kgo.DefaultProduceTopic("t"))
	for i := range records {
		if err := c.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(i))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	giver.Stop()
	taker.Stop()
	moveFiles(t, partitionDir(giver), partitionDir(taker), id)
	taker.Restart()
	return taker
}

// Few records, so that a producer id that both clusters handed out would make the
// first record of the new producer look like one that is in the log already.
func TestPartitionMovesWithItsFiles(t *testing.T) {
	const records = 3
	n := givenFiles(t, records, false)
	topic, _ := n.Control().Image().Topic("t")
	if epoch := topic.Partitions[0].LeaderEpoch; epoch != 2 {
		t.Errorf("leader epoch %d, want 2: the files have 1", epoch)
	}
	if err := n.Client(kgo.DefaultProduceTopic("t")).ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(records))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	reader := n.Client(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, stop := context.WithTimeout(t.Context(), nodetest.Patience)
	defer stop()
	for next := 0; next <= records; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", next, records+1, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != fmt.Sprint(next) || r.Offset != int64(next) {
				t.Errorf("record %d is %q at %d", next, r.Value, r.Offset)
			}
			next++
		})
	}
}

// Files that say that they are another topic's are not served as this one's, and
// not deleted either.
func TestFilesOfAnotherTopicAreSetAside(t *testing.T) {
	n := givenFiles(t, 5, true)
	offsets, err := kadm.NewClient(n.Client()).ListEndOffsets(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := offsets.Lookup("t", 0); !ok || o.Err != nil || o.Offset != 0 {
		t.Errorf("the topic ends at %+v, want an empty log", o)
	}
	entries, err := os.ReadDir(filepath.Dir(partitionDir(n)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "t-0.") && strings.HasSuffix(e.Name(), "-stray") {
			if info, err := os.Stat(filepath.Join(filepath.Dir(partitionDir(n)), e.Name(), "00000000000000000000.log")); err != nil || info.Size() == 0 {
				t.Errorf("the stray directory does not keep the records: %v", err)
			}
			return
		}
	}
	t.Error("nothing was set aside")
}
