package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// logs makes a data folder with records and gives its folder of partitions. No
// broker runs on it any more.
func logs(t *testing.T) string {
	t.Helper()
	n, at := start(t)
	must(t, at, "", "topic", "create", "t", "idle")
	must(t, at, "k1:v1\nk2:v2\n", "produce", "t", "-k", ":", "-H", "a=b")
	n.Stop()
	return filepath.Join(n.DataDir(), "logs")
}

func TestLogVerify(t *testing.T) {
	dir := logs(t)
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for name, paths := range map[string][]string{
		"a partition": {filepath.Join(dir, "t-0")}, "the folder of partitions": {dir}, "the data folder": {filepath.Dir(dir)},
		"everything in it": all, "one file": {filepath.Join(dir, "t-0", "00000000000000000000.log")},
	} {
		v := decode[verification](t, must(t, "", "", append([]string{"log", "verify", "-o", "json"}, paths...)...))
		if v.Records != 2 || v.Batches != 1 || len(v.Findings) != 0 {
			t.Errorf("%s: %+v, want 2 records in 1 batch and nothing wrong", name, v)
		}
	}
	if out := must(t, "", "", "log", "verify", filepath.Join(dir, "t-0")); !strings.HasSuffix(out, "1 batches, 2 records: 0 things wrong\n") {
		t.Errorf("%q", out)
	}
	fails(t, "", "", output.ExitFailure, "no files of a log", "log", "verify", filepath.Join(dir, "meta.properties"))
	fails(t, "", "", output.ExitFailure, "no such file", "log", "verify", filepath.Join(dir, "nosuch-0"))
}

func TestLogVerifyFindsDamage(t *testing.T) {
	dir := logs(t)
	name := filepath.Join(dir, "t-0", "00000000000000000000.log")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-3] ^= 1
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	r := run(t, "", "", "log", "verify", dir)
	if r.code != output.ExitFailure || !strings.Contains(r.out, "damage: "+name) || !strings.Contains(r.err.Error(), "things are wrong") {
		t.Errorf("code %d, %v\n%s", r.code, r.err, r.out)
	}
}

func TestLogDump(t *testing.T) {
	dir := logs(t)
	partition := filepath.Join(dir, "t-0")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{partition}, []string{"Dumping ", "lastOffset: 1 count: 2", "leaderEpoch: 0 startOffset: 0", "topicId: "}},
		{[]string{partition, "--records"}, []string{"| offset: 1 ", "keySize: 2 valueSize: 2"}},
		{[]string{partition, "--data"}, []string{"k2", "v2", "headerKeys: [a]"}},
		{[]string{partition, "--data", "-o", "json"}, []string{`"type":"batch"`, `"key":"k1"`, `"payload":"v1"`}},
		{[]string{dir}, []string{"topic: t partition: 0 offset: "}},
	} {
		out := must(t, "", "", append([]string{"log", "dump"}, c.args...)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("dump %s: no %q in\n%s", c.args, want, out)
			}
		}
	}
	fails(t, "", "", output.ExitFailure, "nothing here to dump; give the folder of a partition", "log", "dump", t.TempDir())
	fails(t, "", "", output.ExitFailure, "not a log, index, snapshot or checkpoint file", "log", "dump", filepath.Join(dir, "meta.properties"))
}
