package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/vfs"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, dir string, got []byte) {
	t.Helper()
	got = bytes.ReplaceAll(got, []byte(dir+string(filepath.Separator)), nil)
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s", name, got)
	}
}

// sizeless takes out what depends on a compressor's output.
func sizeless(dump string) []byte {
	var out []string
	for line := range strings.Lines(dump) {
		for _, codec := range []string{"gzip", "snappy", "lz4", "zstd"} {
			if at := strings.Index(line, "size: "); at > 0 && strings.Contains(line, "codec: "+codec) {
				line = line[:at] + "compresscodec: " + codec + "\n"
			}
		}
		if strings.HasPrefix(line, "baseOffset") || strings.HasPrefix(line, "offset: ") {
			line = withoutField(line, "position: ")
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, ""))
}

func withoutField(line, name string) string {
	at := strings.Index(line, name)
	if at < 0 || strings.Contains(line, "position: 0 ") {
		return line
	}
	rest := line[at+len(name):]
	if end := strings.IndexAny(rest, " \n"); end >= 0 {
		return line[:at] + name + "N" + rest[end:]
	}
	return line
}

func TestDump(t *testing.T) {
	p := samplePartition(t)
	p.write("notes.txt", []byte("not a file of a partition"))
	for name, o := range map[string]DumpOptions{"dump.txt": {}, "deep.txt": {Records: true}, "data.txt": {Data: true}} {
		var out bytes.Buffer
		if err := Dump(&out, vfs.OS(), p.dir, o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, p.dir, sizeless(out.String()))
	}
}

func TestDumpJSON(t *testing.T) {
	p := samplePartition(t)
	var out bytes.Buffer
	if err := Dump(&out, vfs.OS(), p.segmentFile(".log"), DumpOptions{Data: true, JSON: true}); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		what := row["type"].(string)
		count[what]++
		if what == "record" && row["offset"] == 10.0 {
			headers := row["headers"].([]any)
			h, n := headers[0].(map[string]any), headers[1].(map[string]any)
			if row["key"] != "k10" || row["payload"] != "value 10" || h["valueBase64"] != "/w==" || n["value"] != nil {
				t.Errorf("record %v", row)
			}
		}
		if what == "record" && row["offset"] == 12.0 && row["endTxnMarker"] != "ABORT" {
			t.Errorf("marker %v", row)
		}
	}
	if count["batch"] != 3 || count["record"] != 4 {
		t.Errorf("rows %v", count)
	}
}

// TestDumpDamaged prints what is before the damage, and what it is.
func TestDumpDamaged(t *testing.T) {
	p := samplePartition(t)
	name := filepath.Base(p.segmentFile(".log"))
	for what, c := range map[string]struct {
		log  []byte
		want string
	}{
		"torn":    {p.log[:len(p.log)-3], "incomplete batch"},
		"noise":   {append(bytes.Clone(p.log), bytes.Repeat([]byte{7}, 80)...), "magic is 7"},
		"zeros":   {append(bytes.Clone(p.log), make([]byte, 5000)...), "only zeros follow"},
		"flipped": {flip(p.log, p.batches[1]+40), "isvalid: false"},
	} {
		p.write(name, c.log)
		var out bytes.Buffer
		if err := Dump(&out, vfs.OS(), p.file(name), DumpOptions{Records: true}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), "baseOffset: 9 ") {
			t.Errorf("%s:\n%s", what, out.String())
		}
	}
}

func flip(b []byte, at int) []byte {
	out := bytes.Clone(b)
	out[at] ^= 1
	return out
}

func TestDumpErrors(t *testing.T) {
	p := samplePartition(t)
	stop := errors.New("no more")
	if err := Dump(stopWriter{stop}, vfs.OS(), p.dir, DumpOptions{}); !errors.Is(err, stop) {
		t.Errorf("a writer that fails: %v", err)
	}
	var out bytes.Buffer
	if err := Dump(&out, vfs.OS(), p.file("nothing.log"), DumpOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	p.write("a.txt", nil)
	if err := Dump(&out, vfs.OS(), p.file("a.txt"), DumpOptions{}); !errors.Is(err, ErrUnknownFile) {
		t.Errorf("a text file: %v", err)
	}
	p.write("00000000000000000009.snapshot", []byte("no snapshot at all"))
	p.write(epochFileName, []byte("9\n0\n"))
	p.write(metadataFileName, []byte("x"))
	out.Reset()
	if err := Dump(&out, vfs.OS(), p.dir, DumpOptions{}); err != nil || strings.Count(out.String(), "problem: ") != 3 {
		t.Errorf("three bad files: %v\n%s", err, out.String())
	}
}

// stopWriter fails every write.
type stopWriter struct{ err error }

func (w stopWriter) Write([]byte) (int, error) { return 0, w.err }
