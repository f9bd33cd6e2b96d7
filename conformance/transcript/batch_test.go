package transcript

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func parseBatch(t *testing.T, text string) []byte {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	b, err := newMasks().bytes(doc.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func batchText(b []byte) string {
	r := renderer{masks: newMasks(), version: -1}
	return strings.Join(r.batches(b), "\n")
}

func TestBatchesReadBackInEveryCodec(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "snappy-raw", "lz4", "zstd"} {
		b := parseBatch(t, `[{codec: `+codec+`, epoch: 3, pid: 1000007, pepoch: 2, seq: 5, records: [
			{k: key, v: value, h: [[name, text], [none, null]]}, {k: "", v: null, ts: 1600000000500}, plain]}]`)
		shown, _, _ := strings.Cut(codec, "-")
		want := `- batch: 0..2 epoch=3 codec=` + shown + ` first=1600000000000 max=1600000000500 pid=1000007 pepoch=2 seq=5
  - 0: key = value @1600000000000 name=text none=null
  - 1: "" = null @1600000000500
  - 2: null = plain @1600000000000`
		if got := batchText(b); got != want {
			t.Errorf("%s:\n%s", codec, diff(want, got))
		}
	}
}

func TestBrokenBatchesAreShownAsSuch(t *testing.T) {
	for text, want := range map[string]string{
		`[{records: [a], crc: bad}]`:             "crc=bad",
		`[{records: [a], cut: 2}]`:               "- partial: 67 bytes of a batch of 69",
		`[{records: [a], tail: "0000"}]`:         "- partial: 2 bytes",
		`[{records: [a], length: 3}]`:            "- broken: length 3",
		`[{records: [a], count: 2}]`:             "record 1 of 2: ends early",
		`[{records: [a, b], count: 1}]`:          "bytes after the last record",
		`[{attrs: 1, raw: deadbeef, count: 1}]`:  "broken: ",
		`[{attrs: 5, raw: deadbeef, count: 1}]`:  "unknown codec 5",
		`[{records: [{v: a, vlen: 99}]}]`:        "ends early",
		`[{records: [a], magic: 1}]`:             "magic=1",
		`[{records: [a], append: true}]`:         "append-time",
		`[{records: [a], control: true}]`:        "control",
		`[{records: [a], txn: true, pid: 1000}]`: "txn",
	} {
		if got := batchText(parseBatch(t, text)); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", text, got, want)
		}
	}
}

func TestMisspeltBatchFieldsAreRefused(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(`[{recrods: [a]}]`), &doc); err != nil {
		t.Fatal(err)
	}
	if _, err := newMasks().bytes(doc.Content[0]); err == nil || !strings.Contains(err.Error(), `no field "recrods"`) {
		t.Errorf("got error %v, want one about recrods", err)
	}
}

// FuzzBatches holds that no bytes make the reader of batches panic.
func FuzzBatches(f *testing.F) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(`[{codec: gzip, records: [a, b]}, {records: [{k: a, v: b, h: [[x, y]]}]}]`), &doc); err != nil {
		f.Fatal(err)
	}
	b, err := newMasks().bytes(doc.Content[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:70])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 0 && batchText(b) == "" {
			t.Errorf("%x: shown as nothing", b)
		}
	})
}
