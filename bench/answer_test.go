package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/record"
)

// fetchAnswer is a framed Fetch v11 answer as a broker sends it: the records of
// each partition in turn.
func fetchAnswer(topic string, records ...[]byte) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 11
	t := kmsg.NewFetchResponseTopic()
	t.Topic = topic
	for p, r := range records {
		fp := kmsg.NewFetchResponseTopicPartition()
		fp.Partition, fp.RecordBatches = int32(p), r
		t.Partitions = append(t.Partitions, fp)
	}
	resp.Topics = append(resp.Topics, t)
	body := resp.AppendTo([]byte{0, 0, 0, 9}) // correlation id
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// at gives a batch of n records that begins at an offset.
func at(base int64, n int) []byte {
	b := batch(n, 100)
	binary.BigEndian.PutUint64(b, uint64(base))
	return b
}

func TestWalkFetch(t *testing.T) {
	first, second := at(0, 3), at(3, 1)
	torn := slices.Concat(at(10, 2), at(12, 2)[:90])
	wire := slices.Concat(
		fetchAnswer("t", slices.Concat(first, second), nil, torn),
		fetchAnswer("t", nil, nil, nil))
	in := bufio.NewReaderSize(bytes.NewReader(wire), 256) // smaller than the answer
	next := make([]int64, 3)
	heads := 0
	n, err := walkFetch(in, "t", next, func(head []byte) { heads++ })
	if want := int64(len(first) + len(second) + len(torn) - 90); err != nil || n != want {
		t.Fatalf("walked %d bytes (%v), want %d", n, err, want)
	}
	if want := []int64{4, 0, 12}; !slices.Equal(next, want) || heads != 3 {
		t.Errorf("next %v after %d batches, want %v after 3", next, heads, want)
	}
	if n, err := walkFetch(in, "t", next, nil); n != 0 || err != nil {
		t.Errorf("the empty answer behind it: %d bytes, %v", n, err)
	}
}

func TestWalkFetchShowsHeads(t *testing.T) {
	big := batch(1, 4000)
	binary.BigEndian.PutUint64(big[stampOffset:], 77)
	in := bufio.NewReaderSize(bytes.NewReader(fetchAnswer("t", big)), 512)
	var stamp uint64
	if _, err := walkFetch(in, "t", make([]int64, 1), func(head []byte) { stamp = binary.BigEndian.Uint64(head[stampOffset:]) }); err != nil {
		t.Fatal(err)
	}
	if stamp != 77 {
		t.Errorf("the stamp is %d, want 77", stamp)
	}
}

func TestWalkFetchRefuses(t *testing.T) {
	good := fetchAnswer("t", at(0, 1))
	failed := slices.Clone(good)
	binary.BigEndian.PutUint16(failed[4+4+4:], 58) // the error of the whole answer
	partition := slices.Clone(good)
	binary.BigEndian.PutUint16(partition[4+4+4+2+4+4+2+1+4+4:], 6)
	short := slices.Clone(good[:len(good)-20])
	lies := slices.Clone(good)
	binary.BigEndian.PutUint32(lies, 40) // ends inside of the partition
	for what, c := range map[string]struct {
		wire []byte
		text string
	}{
		"error":           {failed, "error 58"},
		"partition error": {partition, "error 6"},
		"cut off":         {short, "EOF"},
		"length too long": {[]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1}, "malformed"},
		"length lies":     {lies, "malformed"},
		"more partitions": {fetchAnswer("t", nil, at(0, 1)), "malformed"},
	} {
		_, err := walkFetch(bufio.NewReader(bytes.NewReader(c.wire)), "t", make([]int64, 1), func([]byte) {})
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", what, err, c.text)
		}
	}
	if _, err := walkFetch(bufio.NewReader(bytes.NewReader(lies)), "t", make([]int64, 1), func([]byte) {}); !errors.Is(err, errAnswer) {
		t.Errorf("%v is no errAnswer", err)
	}
}

// What the producers send must be what a broker takes.
func TestBatchesAreValid(t *testing.T) {
	b := batch(bareRecords, bareValue)
	if n := len(b); n < 60<<10 || n > 66<<10 {
		t.Errorf("a 64 KiB batch has %d bytes", n)
	}
	stamped := batch(1, 4000)
	stamp(stamped, unixNano(5))
	if err := record.Batch(stamped).CheckCRC(); err != nil {
		t.Error(err)
	}
	if got := binary.BigEndian.Uint64(stamped[stampOffset:]); got != 5 {
		t.Errorf("the stamp is %d, want 5", got)
	}
	records := record.Batch(stamped).Records(record.DecompressLimits{})
	if !records.Next() || len(records.Record().Value) != 4000 {
		t.Errorf("a stamped batch does not read: %v", records.Err())
	}
	records.Close()
}

func TestRequestsNameEachPartitionOnce(t *testing.T) {
	b := batch(1, 100)
	for _, per := range []int{1, 4, 12} {
		l := produceLoad{topic: "t", partitions: 12, perRequest: per}
		seen := map[int32]int{}
		for _, f := range l.frames(b) {
			req := kmsg.NewPtrProduceRequest()
			req.Version = 9
			if err := req.ReadFrom(f[4+2+2+4+2+len("bench")+1:]); err != nil {
				t.Fatal(err)
			}
			for _, p := range req.Topics[0].Partitions {
				seen[p.Partition]++
			}
			if !bytes.Equal(f[len(f)-tagsBytes-len(b):len(f)-tagsBytes], b) {
				t.Error("the batch is not where its stamp will be written")
			}
		}
		for p := range int32(12) {
			if seen[p] != 1 {
				t.Errorf("%d a request: partition %d comes %d times", per, p, seen[p])
			}
		}
	}
}
