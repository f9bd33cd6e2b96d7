package broker_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// Two log directories of one disk.
const dirA, dirB = "/data/a", "/data/b"

// place is a log as DescribeLogDirs has it.
type place struct {
	dir    string
	future bool
	lag    int64
}

// asking is a request with its kind of response.
type asking[R any] interface {
	kmsg.Request
	RequestWith(context.Context, kmsg.Requestor) (R, error)
}

// retrier asks one broker, and again when the connection broke.
type retrier struct{ *kgo.Broker }

// Request implements kmsg.Requestor.
func (r retrier) Request(ctx context.Context, q kmsg.Request) (kmsg.Response, error) {
	return r.RetriableRequest(ctx, q)
}

// request asks the broker, and not several of them as the client would.
func request[R any](t *testing.T, c *kgo.Client, q asking[R]) R {
	t.Helper()
	resp, err := q.RequestWith(t.Context(), retrier{c.Broker(1)})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// places are where the logs of a partition are.
func places(t *testing.T, c *kgo.Client, topic string, partition int32) (all []place) {
	t.Helper()
	q := kmsg.NewPtrDescribeLogDirsRequest()
	q.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	resp := request(t, c, q)
	for _, d := range resp.Dirs {
		for _, tp := range d.Topics {
			for _, p := range tp.Partitions {
				all = append(all, place{d.Dir, p.IsFuture, p.OffsetLag})
			}
		}
	}
	return all
}

// home is the directory of a partition's log.
func home(t *testing.T, c *kgo.Client, topic string) string {
	t.Helper()
	for _, p := range places(t, c, topic, 0) {
		if !p.future {
			return p.dir
		}
	}
	return ""
}

// move asks for partition 0 of a topic to be moved.
func move(t *testing.T, c *kgo.Client, topic, dir string) error {
	t.Helper()
	q := kmsg.NewPtrAlterReplicaLogDirsRequest()
	q.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{Dir: dir, Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: []int32{0}}}}}
	resp := request(t, c, q)
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}

// moved waits until a partition is in a directory, and nothing else of it anywhere.
func moved(t *testing.T, c *kgo.Client, topic, dir string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for ctx.Err() == nil {
		if all := places(t, c, topic, 0); len(all) == 1 && all[0] == (place{dir, false, 0}) {
			return
		}
	}
	t.Fatalf("%s did not reach %s: %v", topic, dir, places(t, c, topic, 0))
}

// write appends records n to m-1.
func write(t *testing.T, c *kgo.Client, topic string, n, m int) {
	t.Helper()
	for i := n; i < m; i++ {
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "%d", i), Value: fmt.Appendf(nil, "%0200d", i)}
		if err := c.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// readAll reads n records from the start and compares them with what write wrote.
func readAll(t *testing.T, b *brokertest.Broker, topic string, n int) {
	t.Helper()
	c := b.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	defer c.Close()
	for i := 0; i < n; {
		fetched := c.PollFetches(t.Context())
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			if r.Offset != int64(i) || string(r.Key) != fmt.Sprint(i) {
				t.Fatalf("offset %d with key %s, want %d", r.Offset, r.Key, i)
			}
			i++
		})
	}
}

// twoDirs starts a broker with two directories, and a topic with n records in the first.
func twoDirs(t *testing.T, fs vfs.FS, static config.Static, n int) (*brokertest.Broker, *kgo.Client) {
	t.Helper()
	b := brokertest.Start(t, brokertest.Options{FS: fs, LogDirs: []string{dirA, dirB}, Static: static, Loopback: true})
	c := b.Client(kgo.MaxProduceRequestsInflightPerBroker(1), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	create(t, c, "t")
	if home(t, c, "t") != dirA {
		if err := move(t, c, "t", dirA); err != nil {
			t.Fatal(err)
		}
		moved(t, c, "t", dirA)
	}
	write(t, c, "t", 0, n)
	return b, c
}

// TestPartitionMovesWhileItServes: nothing of what is written meanwhile is lost, and
// readers go on.
func TestPartitionMovesWhileItServes(t *testing.T) {
	b, c := twoDirs(t, nil, nil, 200)
	for round, to := range []string{dirB, dirA, dirB} {
		if err := move(t, c, "t", to); err != nil {
			t.Fatal(err)
		}
		write(t, c, "t", 200+50*round, 250+50*round)
		moved(t, c, "t", to)
		readAll(t, b, "t", 250+50*round)
	}
	b.Restart()
	if got := home(t, c, "t"); got != dirB {
		t.Errorf("after a restart it is in %s, want %s", got, dirB)
	}
	readAll(t, b, "t", 350)
	entries, err := b.FS().ReadDir(dirA)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "t-0") {
			t.Errorf("%s is left in the old directory", e.Name())
		}
	}
}

// TestMoveKeepsTheLogsStart: what was deleted before or during the move stays deleted,
// also inside of a batch.
func TestMoveKeepsTheLogsStart(t *testing.T) {
	b, c := twoDirs(t, nil, nil, 0)
	records := make([]*kgo.Record, 40)
	for i := range records {
		records[i] = &kgo.Record{Topic: "t", Key: fmt.Appendf(nil, "%d", i)}
	}
	for i := 0; i < len(records); i += 10 { // four batches
		if err := c.ProduceSync(t.Context(), records[i:i+10]...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	deleteBefore(t, c, 15)
	if err := move(t, c, "t", dirB); err != nil {
		t.Fatal(err)
	}
	moved(t, c, "t", dirB)
	if start := startOf(t, c); start != 15 {
		t.Errorf("the log starts at %d after the move, want 15", start)
	}
	deleteBefore(t, c, 25)
	b.Restart()
	if start := startOf(t, c); start != 25 {
		t.Errorf("the log starts at %d after a restart, want 25", start)
	}
}

// deleteBefore moves the start of the log of t.
func deleteBefore(t *testing.T, c *kgo.Client, offset int64) {
	t.Helper()
	q := kmsg.NewPtrDeleteRecordsRequest()
	q.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}}}}
	if err := kerr.ErrorForCode(request(t, c, q).Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
}

// listOffsets asks for an offset of t by timestamp.
func listOffsets(timestamp int64) *kmsg.ListOffsetsRequest {
	q := kmsg.NewPtrListOffsetsRequest()
	q.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: timestamp, CurrentLeaderEpoch: -1}}}}
	return q
}

// startOf is the first offset of the log of t.
func startOf(t *testing.T, c *kgo.Client) int64 {
	t.Helper()
	return request(t, c, listOffsets(-2)).Topics[0].Partitions[0].Offset
}

// TestMoveIsThrottledAndCancelled: a rate of 0 stops a move, which clients see; asking
// for the directory that the log is in ends it; and a rate that is set later counts.
func TestMoveIsThrottledAndCancelled(t *testing.T) {
	b, c := twoDirs(t, nil, nil, 100)
	b.Reconfigure(config.Static{"replica.alter.log.dirs.io.max.bytes.per.second": "0"})
	if err := move(t, c, "t", dirB); err != nil {
		t.Fatal(err)
	}
	want := []place{{dirA, false, 0}, {dirB, true, 100}}
	if got := places(t, c, "t", 0); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("while it is throttled: %v, want %v", got, want)
	}
	if err := move(t, c, "t", dirA); err != nil {
		t.Fatal(err)
	}
	moved(t, c, "t", dirA)
	if err := move(t, c, "t", dirB); err != nil {
		t.Fatal(err)
	}
	b.Restart() // the move is taken up again
	if got := places(t, c, "t", 0); got[0] != want[0] {
		t.Errorf("after a restart: %v, want %v", got, want)
	}
	b.Reconfigure(nil)
	moved(t, c, "t", dirB)
	readAll(t, b, "t", 100)
}

// TestDirectoryIsRememberedForATopicToCome, as in Kafka.
func TestDirectoryIsRememberedForATopicToCome(t *testing.T) {
	for _, dir := range []string{dirA, dirB} {
		_, c := twoDirs(t, nil, nil, 0)
		if err := move(t, c, "later", dir); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			t.Errorf("a topic that is not there: %v", err)
		}
		create(t, c, "later")
		if got := home(t, c, "later"); got != dir {
			t.Errorf("it was made in %s, want %s", got, dir)
		}
	}
}

// TestMovesAreRefused goes through the errors.
func TestMovesAreRefused(t *testing.T) {
	_, c := twoDirs(t, nil, nil, 0)
	long := strings.Repeat("x", 220)
	for _, q := range []struct {
		topic, dir string
		want       error
	}{
		{"t", "/nowhere", kerr.LogDirNotFound}, {"t", "data/b", kerr.LogDirNotFound}, {"t", dirB + "/", kerr.LogDirNotFound},
		{"none", dirB, kerr.UnknownTopicOrPartition}, {long, dirB, kerr.InvalidTopicException}, {"t", dirA, nil},
	} {
		if err := move(t, c, q.topic, q.dir); !errors.Is(err, q.want) {
			t.Errorf("%.10s to %s: %v, want %v", q.topic, q.dir, err, q.want)
		}
	}
}

// TestFailedDirectoryCostsItsOwnOnly: when the new directory fails the log serves where
// it was, and moves are refused from then on; the partitions of a directory that fails
// are offline, and no others.
func TestFailedDirectoryCostsItsOwnOnly(t *testing.T) {
	var faults errorfs.Switch
	b, c := twoDirs(t, errorfs.New(vfs.NewMem(), faults.Inject), nil, 50)
	faults.On(func(op vfs.Op) bool {
		return op.Kind == vfs.OpWrite && path.Dir(path.Dir(op.Name)) == dirB
	}, errors.New("bad sector"))
	if err := move(t, c, "t", dirB); err != nil && !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatal(err)
	}
	offline := false
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for !offline && ctx.Err() == nil {
		resp := request(t, c, kmsg.NewPtrDescribeLogDirsRequest())
		offline = resp.Dirs[1].ErrorCode == kerr.KafkaStorageError.Code
		if resp.Dirs[0].ErrorCode != 0 {
			t.Fatalf("%s is offline too", resp.Dirs[0].Dir)
		}
	}
	if !offline {
		t.Fatalf("%s is not offline", dirB)
	}
	faults.Off()
	write(t, c, "t", 50, 60)
	readAll(t, b, "t", 60)
	if err := move(t, c, "t", dirB); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("a move to a directory that is offline: %v", err)
	}
	if err := move(t, c, "t", dirA); err != nil {
		t.Errorf("a move to where it is: %v", err)
	}
	b.Restart() // the fault is over
	moved(t, c, "t", dirB)
	readAll(t, b, "t", 60)
}
