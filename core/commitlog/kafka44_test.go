package commitlog

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// kafkaLibs is the folder with the jars of a real Kafka. conformance/run.sh names
// it and so runs this test; the plain test run needs no Java.
func kafkaLibs(t *testing.T) string {
	dir := os.Getenv("MORTISE_KAFKA_LIBS")
	if dir == "" {
		t.Skip("MORTISE_KAFKA_LIBS is not set: conformance/run.sh does it")
	}
	return dir
}

// TestDumpLogSegmentsFindsNothingWrong has Kafka's own tool check files of a log
// after a clean stop and after recovery from a crash.
func TestDumpLogSegmentsFindsNothingWrong(t *testing.T) {
	libs := kafkaLibs(t)
	for _, clean := range []bool{true, false} {
		dir := t.TempDir() + "/t-0"
		b := newBench(t, vfs.OS(), func(o *Options) {
			o.Dir, o.Config.SegmentBytes, o.Config.IndexIntervalBytes = dir, 20_000, 1000
		})
		for i := range 150 {
			b.append(plain(1+i%5, 200, int64(1000+i*7%90)), kafka.LeaderEpoch(i/60))
			batch := batchOf(kafka.ProducerID(5+i%2), 0, int32(i/2), int64(1000+i))
			b.append(batch, kafka.LeaderEpoch(i/60))
		}
		abort := record.EndTxnMarker{Type: record.ControlAbort, ProducerID: 9, TimestampMS: 2000}
		data := record.NewBuilder(record.BuilderOptions{ProducerID: 9, Transactional: true, LeaderEpoch: -1})
		data.Append(1500, nil, []byte("never"), nil)
		b.append(data.Bytes(), 2)
		info := b.info(abort.Batch())
		info.Origin = OriginCoordinator
		if _, err := b.log.Append(abort.Batch(), 2, info); err != nil {
			t.Fatal(err)
		}
		b.reopen(clean)
		if err := b.log.Close(true); err != nil {
			t.Fatal(err)
		}
		dump(t, libs, dir, clean)
	}
}

// dump runs DumpLogSegments over every file that it knows.
func dump(t *testing.T, libs, dir string, clean bool) {
	t.Helper()
	var files []string
	for _, ext := range []string{"log", "index", "timeindex", "txnindex", "snapshot"} {
		found, err := filepath.Glob(filepath.Join(dir, "*."+ext))
		if err != nil || len(found) == 0 {
			t.Fatalf("no .%s files (%v)", ext, err)
		}
		files = append(files, found...)
	}
	cmd := exec.CommandContext(context.Background(), "java", "-cp", libs+"/*", "org.apache.kafka.tools.DumpLogSegments",
		"--deep-iteration", "--index-sanity-check", "--files", strings.Join(files, ","))
	raw, err := cmd.CombinedOutput()
	out := string(raw)
	if err != nil {
		t.Fatalf("DumpLogSegments: %v\n%.2000s", err, out)
	}
	for _, bad := range []string{"Found", "ismatch", "Exception", "isvalid: false", "corrupt"} {
		if i := strings.Index(out, bad); i >= 0 {
			t.Errorf("clean %v: DumpLogSegments says: %.600s", clean, out[max(0, i-200):])
		}
	}
	if n := strings.Count(out, "passed sanity check"); n < 4 {
		t.Errorf("clean %v: %d indexes passed the sanity check", clean, n)
	}
}

// untar unpacks plain files into dir.
func untar(t *testing.T, name, dir string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, b, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpensAFolderOfKafka reads what a real Kafka 4.4 left behind: idempotent
// batches, gzip, several segments, records deleted up to offset 1.
func TestOpensAFolderOfKafka(t *testing.T) {
	for _, clean := range []bool{true, false} {
		tmp := t.TempDir()
		untar(t, "testdata/kafka44/disk-a-0.tar.gz", tmp)
		dir := tmp + "/disk-a-0"
		l, err := Open(context.Background(), Options{
			FS: vfs.OS(), Dir: dir, TP: kafka.TopicPartition{Topic: "disk-a"}, Clean: clean, StartOffset: 1, RecoveryPoint: 6,
			Clock: clock.NewManual(time.UnixMilli(1_600_000_010_000)), // before the producers expire
		})
		if err != nil {
			t.Fatalf("clean %v: %v", clean, err)
		}
		b := &bench{t: t, log: l}
		if l.StartOffset() != 1 || l.EndOffset() != 6 || l.LatestEpoch() != 0 {
			t.Fatalf("clean %v: %d to %d, epoch %d", clean, l.StartOffset(), l.EndOffset(), l.LatestEpoch())
		}
		if first, last := span(t, b.all(1<<20)); first != 0 || last != 5 {
			t.Fatalf("clean %v: read %d to %d", clean, first, last)
		}
		at, ok, err := l.OffsetForTimestamp(1_600_000_001_000, 6)
		if err != nil || !ok || at.Offset != 2 || at.Timestamp != 1_600_000_001_000 {
			t.Fatalf("clean %v: record of the time: %+v %v %v", clean, at, ok, err)
		}
		if p := l.Producers(); len(p) != 2 || p[0].ProducerID != 1_000_000 || p[0].LastSequence != 3 {
			t.Fatalf("clean %v: producers %+v", clean, p)
		}
		if err := l.Close(true); err != nil {
			t.Fatal(err)
		}
	}
}
