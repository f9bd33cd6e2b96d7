package console

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestFormat(t *testing.T) {
	r := &kgo.Record{
		Topic: "t", Partition: 3, Offset: 7, Timestamp: time.UnixMilli(1700000000123),
		Key: nil, Value: []byte("v"),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b", Value: nil}},
	}
	for format, want := range map[string]string{
		`%s\n`:                 "v\n",
		`%t/%p@%o %T`:          "t/3@7 1700000000123",
		`[%k|%K|%S]%%\t\\\x41`: "[|-1|1]%\t\\A",
		`%h`:                   "a=1,b=",
		`%D`:                   "2023-11-14T22:13:20.123Z",
	} {
		f, err := NewFormatter(format)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Append(nil, r)); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	for _, bad := range []string{`%`, `\`, `%z`, `\q`, `\x4`, `\xzz`} {
		if _, err := NewFormatter(bad); err == nil {
			t.Errorf("format %s was taken", bad)
		}
	}
}

func TestJSONLosesNothing(t *testing.T) {
	line, err := AppendJSON(nil, &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(5), Key: []byte{}, Value: []byte{0xff}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"topic":"t","partition":0,"offset":0,"timestamp_ms":5,"key":"","value_base64":"/w=="}` + "\n"
	if string(line) != want {
		t.Errorf("%s, want %s", line, want)
	}
}

func TestLines(t *testing.T) {
	in := "a:1\nb:NULL\nNULL:2\nc:"
	var got []string
	for r, err := range Lines(strings.NewReader(in), LineOptions{KeySeparator: ":", Null: "NULL"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, show(r.Key)+"="+show(r.Value))
	}
	if want := "a=1 b=<null> <null>=2 c="; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	for _, err := range Lines(strings.NewReader("no key\n"), LineOptions{KeySeparator: ":"}) {
		if err == nil {
			t.Error("a line without the separator was taken")
		}
	}
}

func show(b []byte) string {
	if b == nil {
		return "<null>"
	}
	return string(b)
}

func TestFilesRoundTrip(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	want := map[string]string{"a.txt": "hello", "deep/er/b.bin": "\x00\xff", "empty": ""}
	for name, content := range want {
		name = filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := NewFileWriter(to)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for r, err := range Files(from, nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range want {
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !bytes.Equal(got, []byte(content)) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, content)
		}
	}
}

func TestFileWriterStaysInItsFolder(t *testing.T) {
	w, err := NewFileWriter(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, key := range []string{"", ".", "..", "../x", "/etc/x", "a/../../x"} {
		if err := w.Write(&kgo.Record{Key: []byte(key), Value: []byte("x")}); err == nil {
			t.Errorf("key %q was written", key)
		}
	}
	lie := []kgo.RecordHeader{{Key: HeaderSHA256, Value: []byte("00")}}
	if err := w.Write(&kgo.Record{Key: []byte("f"), Value: []byte("x"), Headers: lie}); err == nil {
		t.Error("content that differs from its digest was written")
	}
}

func TestPosition(t *testing.T) {
	now := time.UnixMilli(10_000_000)
	for text, want := range map[string]span{
		"start": {5, 20, 5, 0}, "end": {5, 20, 20, 0}, "12": {5, 20, 12, 12}, "-3": {5, 20, 17, 0}, "-100": {5, 20, 5, 0},
		"2": {5, 20, 5, 2}, "30": {5, 20, 20, 30}, "@1000": {5, 20, 9, 0}, "@1h": {5, 20, 9, 0},
	} {
		p, err := ParsePosition(text, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.in(5, 20, 9); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"", "x", "@x"} {
		if _, err := ParsePosition(bad, now); err == nil {
			t.Errorf("position %q was taken", bad)
		}
	}
	if p, _ := ParsePosition("@1h", now); p.n != 10_000_000-3_600_000 {
		t.Errorf("an hour ago is %d", p.n)
	}
}

// An error of a record names it and says what to do, where there is something to do.
func TestRefusals(t *testing.T) {
	for want, err := range map[string]error{
		`topic orders: the record with key "k": records have timed out before they were able to be produced; mortise health and mortise topic describe orders tell more`: kgo.ErrRecordTimeout,
		`topic orders: INVALID_RECORD`: kerr.InvalidRecord,
		`the topic's max.message.bytes and this command's --batch-bytes must both allow it`: kerr.MessageTooLarge,
	} {
		if got := refusal(&kgo.Record{Topic: "orders", Key: []byte("k")}, err).Error(); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
