package tool

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// kafkaDir is a partition that a real Kafka 4.4 wrote with the console producer,
// idempotent, 15 times 6 records, three times with each codec, and an
// index.interval.bytes of 100. It was shut down cleanly.
const kafkaDir = "testdata/kafka44-0"

func TestKafkasPartition(t *testing.T) {
	r := verify(t, kafkaDir)
	if len(r.Findings) > 0 || r.Records != 90 || r.Files != 6 {
		t.Errorf("findings %v, %d records, %d files", r.Findings, r.Records, r.Files)
	}
	var out bytes.Buffer
	if err := Dump(&out, vfs.OS(), kafkaDir, DumpOptions{Data: true}); err != nil {
		t.Fatal(err)
	}
	for _, codec := range []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd} {
		value := "payload: value of " + codec.String() + " number 3 6"
		header := "headers: [h1=v-" + codec.String() + " h2=3]"
		if !strings.Contains(out.String(), value) || !strings.Contains(out.String(), header) {
			t.Errorf("no record %q with %q in\n%s", value, header, out.String())
		}
		if !strings.Contains(out.String(), "compresscodec: "+codec.String()+" ") {
			t.Errorf("no batch of %s", codec)
		}
	}
}
