package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

var kafkaLib = flag.String("kafka-lib", "", "directory of Kafka 4.4's jars: ask it again and write testdata/kafka44.tsv")

const answersFile = "testdata/kafka44.tsv"

func (c rulesCase) line() string {
	r := &c.rules
	return strings.Join([]string{
		c.name, hex.EncodeToString(c.batch), r.Compression.String(), r.TimestampType.String(),
		fmt.Sprint(r.BeforeMaxMS), fmt.Sprint(r.AfterMaxMS), fmt.Sprint(r.Compacted), fmt.Sprint(r.NowMS),
		fmt.Sprint(r.MaxRecordBytes),
	}, "\t")
}

// askKafka runs the cases through Kafka's own LogValidator.
func askKafka(t *testing.T, cases []rulesCase) string {
	t.Helper()
	var in, out bytes.Buffer
	for _, c := range cases {
		in.WriteString(c.line() + "\n")
	}
	cmd := exec.Command("java", "-cp", *kafkaLib+"/*", "testdata/LogValidatorOracle.java")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Sorted(strings.Lines(out.String())), "")
}

func readAnswers(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parseAnswers(text string) map[string][]string {
	answers := map[string][]string{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		answers[f[0]] = f[1:]
	}
	return answers
}

// TestKafkaAnswers compares Validate with what a real Kafka 4.4 said: code,
// message, record errors, and the bytes that it would store.
func TestKafkaAnswers(t *testing.T) {
	cases := rulesCases()
	if *kafkaLib != "" {
		if err := os.WriteFile(answersFile, []byte(askKafka(t, cases)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	answers := parseAnswers(readAnswers(t))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want, ok := answers[c.name]
			if !ok {
				t.Fatal("Kafka was not asked; run with -kafka-lib")
			}
			if d := differences[strings.TrimPrefix(c.name, c.batch.Codec().String()+" ")]; d.code != "" &&
				(c.batch.Codec() == None) == d.uncompressed {
				want = []string{d.code, "!"}
			}
			before := bytes.Clone(c.batch)
			v, err := Validate(c.batch, &c.rules)
			if err != nil {
				compareRefusal(t, err, want)
				if !bytes.Equal(before, c.batch) {
					t.Error("a refused batch was changed")
				}
				return
			}
			compareStored(t, v, want)
		})
	}
}

// difference is a case where Mortise means to answer otherwise than Kafka.
type difference struct {
	code         string
	uncompressed bool
}

// differences, by the name of the case without the codec.
var differences = map[string]difference{
	// Kafka does not notice and stores what its consumers cannot read.
	"record: record size too large": {code: "87"},
	// Kafka gives an unknown server error, and for compressed batches this one.
	"record: record size overlong": {code: "87", uncompressed: true},
}

func compareRefusal(t *testing.T, err error, want []string) {
	t.Helper()
	code, message := kafka.ErrorCode(0), ""
	var records []string
	var refused *InvalidError
	var plain *kafka.Error
	switch {
	case errors.As(err, &refused):
		code, message = refused.Code, refused.Message
		for _, r := range refused.Records {
			records = append(records, fmt.Sprintf("%d:%s", r.Index, r.Message))
		}
	case errors.As(err, &plain):
		code = plain.Code
	default:
		t.Fatalf("error of an unknown kind: %v", err)
	}
	if got := strconv.Itoa(int(code)); got != want[0] {
		t.Errorf("code %s (%v), Kafka gives %s", got, err, strings.Join(want, " "))
		return
	}
	if strings.HasPrefix(want[1], "!") { // an exception whose text no client sees
		if message != "" || len(records) > 0 {
			t.Errorf("record errors %q where Kafka has none", message)
		}
		return
	}
	if message != want[1] || !slices.Equal(records, want[2:]) {
		t.Errorf("message %q %q,\nKafka's is %q %q", message, records, want[1], want[2:])
	}
}

func compareStored(t *testing.T, v Validated, want []string) {
	t.Helper()
	if want[0] != "0" {
		t.Fatalf("accepted, Kafka gives %s", strings.Join(want, " "))
	}
	raw, err := hex.DecodeString(want[3])
	if err != nil {
		t.Fatal(err)
	}
	kafkas, rest, err := Next(raw)
	if err != nil || len(rest) > 0 {
		t.Fatalf("Kafka's batch: %v, %d bytes behind", err, len(rest))
	}
	if got := strconv.FormatInt(v.MaxTimestamp, 10); got != want[1] {
		t.Errorf("max timestamp %s, Kafka has %s", got, want[1])
	}
	if got := strconv.FormatBool(v.Rewritten); got != want[2] {
		t.Errorf("rebuilt %s, Kafka %s", got, want[2])
	}
	v.Batch.Assign(0, 7)
	if err := v.Batch.CheckCRC(); err != nil {
		t.Error(err)
	}
	if !v.Rewritten || v.Batch.Codec() == None {
		if !bytes.Equal(v.Batch, kafkas) {
			t.Errorf("stored\n%x\nKafka stores\n%x", []byte(v.Batch), raw)
		}
		return
	}
	if !bytes.Equal(inflated(t, v.Batch), inflated(t, kafkas)) {
		t.Errorf("stored %x\nKafka stores %x (decompressed)", inflated(t, v.Batch), inflated(t, kafkas))
	}
}

// inflated is a batch without what depends on the compressor: length and CRC.
func inflated(t *testing.T, b Batch) []byte {
	t.Helper()
	out := append([]byte(nil), b[:HeaderSize]...)
	clear(out[posLength : posLength+4])
	clear(out[posCRC : posCRC+4])
	records, err := decompress(nil, b.Codec(), b.payload(), DefaultMaxDecompressedBytes)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, records...)
}
