package tool

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

func verify(t *testing.T, path string) *Report {
	t.Helper()
	r, err := Inspect(context.Background(), vfs.OS(), path, InspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerifyGood(t *testing.T) {
	p := samplePartition(t)
	r := verify(t, p.dir)
	if len(r.Findings) > 0 {
		t.Errorf("findings %v", r.Findings)
	}
	if r.Batches != 6 || r.Records != 13 || r.Files != 10 {
		t.Errorf("%d batches, %d records, %d files", r.Batches, r.Records, r.Files)
	}
	var done, total int64
	_, err := Inspect(context.Background(), vfs.OS(), filepath.Dir(p.dir), InspectOptions{
		Progress: func(d, n int64) { done, total = d, n },
	})
	if err != nil || done != total || total != r.Bytes {
		t.Errorf("progress %d of %d, %d bytes, %v", done, total, r.Bytes, err)
	}
	for _, name := range []string{p.segmentFile(".log"), p.segmentFile(".index"), p.segmentFile(".timeindex"),
		p.file(epochFileName), p.file("00000000000000000009.snapshot"), p.file(metadataFileName)} {
		if r := verify(t, name); len(r.Findings) > 0 || r.Files == 0 {
			t.Errorf("%s alone: %v", name, r.Findings)
		}
	}
}

// TestVerifyFinds breaks one thing after another in a good partition.
func TestVerifyFinds(t *testing.T) {
	put32 := func(b []byte, at int, v uint32) { binary.BigEndian.PutUint32(b[at:], v) }
	for _, c := range []struct {
		name   string
		level  Level
		want   string
		breaks func(p *partition)
	}{
		{"bit in a record", Damage, "checksum", func(p *partition) { p.log = flip(p.log, len(p.log)-2) }},
		{"torn tail", Damage, "incomplete batch", func(p *partition) { p.log = p.log[:len(p.log)-1] }},
		{"noise at the end", Damage, "magic is 1", func(p *partition) { p.log = append(p.log, bytes.Repeat([]byte{1}, 90)...) }},
		{"preallocated", Note, "preallocated", func(p *partition) { p.log = append(p.log, make([]byte, 9000)...) }},
		{"offset goes back", Damage, "offset goes back", func(p *partition) {
			record.Batch(p.log[p.batches[1]:]).Assign(9, 3)
		}},
		{"gap", Note, "offsets 13 to 19 are missing", func(p *partition) { p.next = 20; p.add(record.None, 3, 1) }},
		{"epoch goes back", Damage, "leader epoch goes back from 3 to 2", func(p *partition) { p.add(record.None, 2, 1) }},
		{"epoch unknown", Damage, "leader epoch is 4, leader-epoch-checkpoint says 3", func(p *partition) { p.add(record.None, 4, 1) }},
		{"index into a batch", Damage, "not the start of a batch", func(p *partition) { put32(p.index, 4, uint32(p.batches[1]+1)) }},
		{"index behind the end", Damage, "behind the last readable batch", func(p *partition) { put32(p.index, 12, 1<<20) }},
		{"index unsorted", Damage, "does not come after", func(p *partition) { put32(p.index, 8, 1) }},
		{"index offset too small", Damage, "after the entry's", func(p *partition) { put32(p.index, 0, 0) }},
		{"index offset too large", Note, "not the entry's", func(p *partition) { put32(p.index, 8, 7) }},
		{"index cut", Damage, "3 bytes at the end are no entry", func(p *partition) { p.index = append(p.index, 0, 0, 0) }},
		{"time index unsorted", Damage, "does not come after", func(p *partition) { put32(p.times, 12+4, 0) }},
		{"time too early", Damage, "the latest up to the offset", func(p *partition) { put32(p.times, 4, 1000) }},
		{"time behind the end", Damage, "entry is behind offset 12", func(p *partition) { put32(p.times, 12+8, 90) }},
		{"snapshot CRC", Damage, "checksum", func(p *partition) {
			p.write("00000000000000000009.snapshot", flip(snapshot(producerEntry{id: 1, txnFirst: -1}), 12))
		}},
		{"snapshot cut", Damage, "want 56", func(p *partition) {
			cut := snapshot(producerEntry{id: 1})[:40]
			copy(cut[2:], crcOf(cut[6:]))
			p.write("00000000000000000009.snapshot", cut)
		}},
		{"snapshot of the future", Damage, "not before the snapshot's 9", func(p *partition) {
			p.write("00000000000000000009.snapshot", snapshot(producerEntry{id: 1, lastOffset: 9, txnFirst: -1}))
		}},
		{"producer twice", Damage, "there twice", func(p *partition) {
			one := producerEntry{id: 1, lastOffset: 2, txnFirst: -1}
			p.write("00000000000000000009.snapshot", snapshot(one, one))
		}},
		{"transaction backwards", Damage, "transaction from offset 12 to 9", func(p *partition) {
			p.write("00000000000000000009.txnindex", txnEntryBytes(9, 12, 9, 12))
		}},
		{"epochs unsorted", Damage, "does not come after epoch 2", func(p *partition) {
			p.write(epochFileName, []byte("0\n3\n0 0\n2 5\n1 10\n"))
		}},
		{"epoch behind the end", Damage, "behind the end of the log", func(p *partition) {
			p.write(epochFileName, []byte("0\n4\n0 0\n2 5\n3 10\n4 99\n"))
		}},
		{"epoch count", Damage, `says "7" entries`, func(p *partition) { p.write(epochFileName, []byte("0\n7\n0 0\n")) }},
		{"metadata", Damage, "topic_id", func(p *partition) { p.write(metadataFileName, []byte("version: 0\n")) }},
		{"orphan index", Note, "does not exist", func(p *partition) { p.write("00000000000000000777.index", nil) }},
		{"overlapping segment", Damage, "segment starts before offset 13", func(p *partition) {
			p.write("00000000000000000012.log", nil)
		}},
		{"missing segment", Note, "offsets 13 to 999 are missing before the segment", func(p *partition) {
			p.write("00000000000000001000.log", nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := samplePartition(t)
			c.breaks(p)
			p.write(filepath.Base(p.segmentFile(".log")), p.log)
			p.write(filepath.Base(p.segmentFile(".index")), p.index)
			p.write(filepath.Base(p.segmentFile(".timeindex")), p.times)
			r := verify(t, p.dir)
			for _, f := range r.Findings {
				if f.Level == c.level && strings.Contains(f.String(), c.want) {
					if r.Damaged() != (c.level == Damage) {
						t.Errorf("damaged is %t: %v", r.Damaged(), r.Findings)
					}
					return
				}
			}
			t.Errorf("findings %v, want one with %q", r.Findings, c.want)
		})
	}
}

// TestVerifyRecords finds batches whose CRC is right and whose content is not.
func TestVerifyRecords(t *testing.T) {
	good := func() *record.Builder { return record.NewBuilder(record.PlainOptions(record.None)) }
	for _, c := range []struct {
		name, want string
		batch      func() record.Batch
	}{
		{"records go back", "record offset is not between", func() record.Batch {
			b := good()
			b.AppendAt(0, 1, nil, nil, nil)
			b.AppendAt(0, 1, nil, nil, nil)
			b.AppendAt(1, 1, nil, nil, nil)
			return b.Bytes()
		}},
		{"record after the last offset", "record offset is not between 0 and 2", func() record.Batch {
			b := good()
			b.AppendAt(3, 1, nil, nil, nil)
			return reseal(b.Bytes(), 23, 3-1)
		}},
		{"last offset before the first", "last offset -2 is before the first", func() record.Batch {
			b := good()
			b.AppendAt(0, 1, nil, nil, nil)
			return reseal(b.Bytes(), 23, -2)
		}},
		{"more records in the header", "premature EOF", func() record.Batch {
			b := good()
			b.AppendAt(0, 1, nil, nil, nil)
			return reseal(b.Bytes(), 57, 2)
		}},
		{"no gzip", "gzip", func() record.Batch {
			b := good()
			b.AppendAt(0, 1, nil, nil, nil)
			return reseal(b.Bytes(), 20, 0) // attributes are changed below
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.batch()
			if c.name == "no gzip" {
				b[22] = byte(record.Gzip)
				copy(b[17:], crcOf(b[21:]))
			}
			p := newPartition(t, 0)
			p.addBatch(b)
			p.flush()
			r := verify(t, p.dir)
			if len(r.Findings) == 0 || !strings.Contains(r.Findings[0].Problem, c.want) && !strings.Contains(r.Findings[len(r.Findings)-1].Problem, c.want) {
				t.Errorf("findings %v, want %q", r.Findings, c.want)
			}
		})
	}
}

// reseal changes an int32 of a batch's header and computes the CRC again.
func reseal(b record.Batch, at int, v int32) record.Batch {
	if at >= 21 {
		binary.BigEndian.PutUint32(b[at:], uint32(v))
	}
	copy(b[17:], crcOf(b[21:]))
	return b
}

func TestVerifyBounds(t *testing.T) {
	p := newPartition(t, 0)
	for range 50 {
		p.add(record.None, 0, 1)
	}
	for _, at := range p.batches {
		p.log[at+30] ^= 1
	}
	p.flush()
	r, err := Inspect(context.Background(), vfs.OS(), p.dir, InspectOptions{MaxFindings: 10})
	if err != nil || len(r.Findings) != 10 || r.Dropped[Damage] < 40 || !r.Damaged() {
		t.Errorf("%d findings, %v dropped, %v", len(r.Findings), r.Dropped, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	big := newPartition(t, 0)
	b := record.NewBuilder(record.PlainOptions(record.None))
	b.Append(1, nil, make([]byte, 3*readBlock/2), nil)
	for range 4 {
		batch := b.Bytes()
		batch.Assign(big.next, 0)
		big.addBatch(batch)
	}
	big.flush()
	calls := 0
	r, err = Inspect(ctx, vfs.OS(), big.dir, InspectOptions{Progress: func(int64, int64) { calls++; cancel() }})
	if !errors.Is(err, context.Canceled) || calls != 1 || r.Batches != 1 {
		t.Errorf("%d calls of progress, %d batches, %v", calls, r.Batches, err)
	}
}

// TestVerify gives damage alone.
func TestVerify(t *testing.T) {
	p := samplePartition(t)
	p.log = append(p.log, make([]byte, 100)...) // a note
	p.flush()
	if found, err := Verify(context.Background(), vfs.OS(), p.dir, nil); err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
	p.log[70] ^= 1
	p.flush()
	found, err := Verify(context.Background(), vfs.OS(), p.dir, nil)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	data, err := json.Marshal(found[0])
	if err != nil || !bytes.HasPrefix(data, []byte(`{"level":"damage","file":"`)) ||
		!bytes.Contains(data, []byte(`"position":0,"offset":9,"problem":"corrupt batch: checksum is `)) {
		t.Errorf("as JSON %s, %v", data, err)
	}
}

func TestFileKind(t *testing.T) {
	for name, want := range map[string]kafka.Offset{
		"/d/t-0/00000000000000000042.log": 42, "00000000000000000042.timeindex": 42,
		"42.log": -1, "00000000000000000042.log.deleted": -1, "0000000000000000004x.log": -1,
		"99999999999999999999.log": -1, "leader-epoch-checkpoint": -1,
	} {
		if k, got := fileKind(name); got != want || (k == otherFile) != (want < 0 && name != epochFileName) {
			t.Errorf("%s: kind %d, offset %d", name, k, got)
		}
	}
}
