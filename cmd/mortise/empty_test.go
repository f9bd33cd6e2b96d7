package main

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestStopAtEndAfterCompaction holds that consume ends although the last record
// is gone: compaction leaves a batch without records at the end of a log, and
// DeleteRecords may leave nothing at all.
func TestStopAtEndAfterCompaction(t *testing.T) {
	n, at := start(t)
	must(t, at, "", "topic", "create", "t")
	must(t, at, "kept\n", "produce", "t")
	must(t, at, "gone\n", "produce", "t")
	must(t, at, "later\n", "produce", "t")
	n.Stop()
	dir := filepath.Join(n.DataDir(), "logs", "t-0")
	emptyLastBatches(t, filepath.Join(dir, "00000000000000000000.log"), 2)
	for _, index := range []string{"00000000000000000000.index", "00000000000000000000.timeindex"} {
		if err := os.Remove(filepath.Join(dir, index)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	n.Restart()
	if got := must(t, at, "", "consume", "t", "-e", "-f", `%o %s\n`); got != "0 kept\n" {
		t.Errorf("%q", got)
	}
	views := decode[[]topicView](t, must(t, at, "", "topic", "describe", "t", "-o", "json"))
	if end := views[0].Partitions[0].EndOffset; end != 3 {
		t.Errorf("the end is %d: the test has not made what it wants", end)
	}
	must(t, at, "again\n", "produce", "t")
	if got := must(t, at, "", "consume", "t", "-e", "--from", "1"); strings.TrimSpace(got) != "again" {
		t.Errorf("%q", got)
	}
}

// TestStopAtEndAfterDeleteRecords holds the same for records that were deleted
// from the start of a log.
func TestStopAtEndAfterDeleteRecords(t *testing.T) {
	n, at := start(t)
	must(t, at, "", "topic", "create", "t")
	must(t, at, "0\n1\n2\n", "produce", "t")
	admin := kadm.NewClient(n.Client())
	for offset, want := range []string{"0\n1\n2\n", "1\n2\n", "2\n", ""} {
		before := kadm.Offsets{}
		before.AddOffset("t", 0, int64(offset), -1)
		if _, err := admin.DeleteRecords(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{"start", "0", "-9"} {
			if got := must(t, at, "", "consume", "t", "-e", "--from", from); got != want {
				t.Errorf("deleted below %d, from %s: %q, want %q", offset, from, got, want)
			}
		}
	}
}

// Places in a record batch.
const (
	batchLength = 8 // of what follows it
	batchCRC    = 17
	batchCount  = 57
	batchHeader = 61
)

// emptyLastBatches takes the records out of the last n batches of a log, as
// compaction does: offsets stay.
func emptyLastBatches(t *testing.T, name string, n int) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var batches [][]byte
	for len(b) >= batchHeader {
		size := 12 + int(binary.BigEndian.Uint32(b[batchLength:]))
		batches = append(batches, b[:size])
		b = b[size:]
	}
	var out []byte
	for i, batch := range batches {
		if i >= len(batches)-n {
			batch = batch[:batchHeader:batchHeader]
			binary.BigEndian.PutUint32(batch[batchLength:], batchHeader-12)
			binary.BigEndian.PutUint32(batch[batchCount:], 0)
			binary.BigEndian.PutUint32(batch[batchCRC:], crc32.Checksum(batch[batchCRC+4:], crc32.MakeTable(crc32.Castagnoli)))
		}
		out = append(out, batch...)
	}
	if err := os.WriteFile(name, out, 0o644); err != nil {
		t.Fatal(err)
	}
}
