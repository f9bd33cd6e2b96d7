package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

var kafkaRandom = flag.Int("kafka-random", 0, "with -kafka-lib: how many random batches to compare")

// mutate changes some bytes of a batch: of its header, or of its records before
// compression. The result has a right size and CRC.
func mutate(r *rand.Rand, b Batch) Batch {
	codec := b.Codec()
	records, err := decompress(nil, codec, b.payload(), 1<<20)
	if codec == None {
		records = bytes.Clone(b.payload())
	} else if err != nil {
		records = bytes.Clone(b.payload())
		codec = None
	}
	head := bytes.Clone(b[:HeaderSize])
	for range 1 + r.IntN(3) {
		if r.IntN(4) == 0 {
			at := posLastOffsetDelta + r.IntN(HeaderSize-posLastOffsetDelta)
			head[at] = byte(r.IntN(256))
			continue
		}
		if len(records) == 0 {
			continue
		}
		at := r.IntN(min(len(records), 60))
		switch r.IntN(4) {
		case 0:
			records[at] ^= 1 << r.IntN(8)
		case 1:
			records[at] = byte(r.IntN(4))
		case 2:
			records = append(records[:at], records[at+1:]...)
		case 3:
			records = append(records[:at], append([]byte{byte(r.IntN(256))}, records[at:]...)...)
		}
	}
	out := append(Batch(head), compressed(codec, records)...)
	out[posAttributes+1] = out[posAttributes+1]&^attrCodec | byte(codec)
	out.seal()
	return out
}

// meant tells whether the answers differ where they should: see Validate. Kafka
// skips over the sizes of records that it does not rebuild.
func meant(c rulesCase, err error, kafkas []string) bool {
	inPlace := c.batch.Codec() != None && c.rules.Compression.Target(c.batch.Codec()) == c.batch.Codec()
	return inPlace && errors.Is(err, kafka.ErrInvalidRecord.Err("")) || strings.Contains(kafkas[1], "Varint is too long")
}

// compareRebuilt compares the records of a rebuilt batch. Kafka's Java strings lose
// what is no UTF-8 in a header's name, and null lengths below -1 become -1.
func compareRebuilt(t *testing.T, b Batch, kafkas string) {
	t.Helper()
	raw, err := hex.DecodeString(kafkas)
	if err != nil {
		t.Fatal(err)
	}
	asJava := func(b Batch) string {
		records, err := ours(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range records {
			for i := range p.headers {
				p.headers[i].Key = strings.ToValidUTF8(p.headers[i].Key, "\uFFFD")
			}
		}
		return fmt.Sprint(records)
	}
	if got, want := asJava(b), asJava(raw); got != want {
		t.Errorf("stored %s, Kafka stores %s", got, want)
	}
	if at := posAttributes; !bytes.Equal(b[at:HeaderSize], raw[at:HeaderSize]) {
		t.Errorf("header %x, Kafka's is %x", []byte(b[at:HeaderSize]), raw[at:HeaderSize])
	}
}

// TestKafkaRandom asks a real Kafka about batches that nobody thought of. It runs
// only with -kafka-lib and -kafka-random.
func TestKafkaRandom(t *testing.T) {
	if *kafkaLib == "" || *kafkaRandom == 0 {
		t.Skip("needs -kafka-lib and -kafka-random")
	}
	r := rand.New(rand.NewPCG(uint64(*kafkaRandom), 1))
	seeds := rulesCases()
	var cases []rulesCase
	for i := range *kafkaRandom {
		c := seeds[r.IntN(len(seeds))]
		if len(c.batch) > 1000 {
			continue
		}
		c.name, c.batch = fmt.Sprintf("random %d of %s", i, c.name), mutate(r, c.batch)
		cases = append(cases, c)
	}
	// Kafka prints which negative length a null has.
	text := regexp.MustCompile(`=-[0-9]+ bytes`).ReplaceAllString(askKafka(t, cases), "=-1 bytes")
	answers := parseAnswers(text)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := answers[c.name]
			before := bytes.Clone(c.batch)
			v, err := Validate(c.batch, &c.rules)
			if err != nil && meant(c, err, want) {
				return
			}
			if err != nil {
				compareRefusal(t, err, want)
			} else if !v.Rewritten || want[0] != "0" {
				compareStored(t, v, want)
			} else {
				compareRebuilt(t, v.Batch, want[3])
			}
			if t.Failed() {
				t.Logf("batch %x", before)
			}
		})
	}
}
