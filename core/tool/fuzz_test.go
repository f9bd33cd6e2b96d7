package tool

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// FuzzVerify gives any bytes as the files of a partition: findings or none, never
// a panic, an error or an endless walk.
// The same for Dump.
func FuzzVerify(f *testing.F) {
	p := samplePartition(f)
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	kafkas := filepath.Join(kafkaDir, "00000000000000000000")
	f.Add(read(kafkas+".log"), read(kafkas+".index"), read(kafkas+".timeindex"),
		read(filepath.Join(kafkaDir, "00000000000000000090.snapshot")), read(filepath.Join(kafkaDir, epochFileName)))
	f.Add(p.log[:len(p.log)-3], p.index, append(p.times, 0), snapshot(producerEntry{id: 1}), []byte("0\n2\n5 0\n1 9\n"))
	f.Add(append(p.log, make([]byte, 200)...), []byte{1}, []byte{}, []byte{0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, []byte("0\n-1\n"))
	f.Fuzz(func(t *testing.T, log, index, times, snap, epochs []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{
			"00000000000000000000.log": log, "00000000000000000000.index": index, "00000000000000000000.timeindex": times,
			"00000000000000000000.txnindex": index, "00000000000000000090.snapshot": snap,
			epochFileName: epochs, metadataFileName: epochs,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		limits := record.DecompressLimits{MaxBytes: 1 << 20}
		r, err := Inspect(context.Background(), vfs.OS(), dir, InspectOptions{Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) > 2*DefaultMaxFindings || r.Bytes != int64(len(log)) {
			t.Fatalf("%d findings, %d bytes", len(r.Findings), r.Bytes)
		}
		if err := Dump(io.Discard, vfs.OS(), dir, DumpOptions{Data: true, JSON: true, Limits: limits}); err != nil {
			t.Fatal(err)
		}
	})
}
