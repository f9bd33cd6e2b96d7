package logdir

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/mortisemq/mortise/core/kafka"
)

// The names of the checkpoint files.
const (
	RecoveryPointFile = "recovery-point-offset-checkpoint"
	LogStartFile      = "log-start-offset-checkpoint"
	HighWatermarkFile = "replication-offset-checkpoint"
)

// checkpointVersion is the only version of the format.
const checkpointVersion = 0

// maxCheckpointBytes bounds what is read: a million lines of 256 bytes.
const maxCheckpointBytes = 256 << 20

// checkpoint is the content of one checkpoint file.
type checkpoint map[kafka.TopicPartition]kafka.Offset

// encoder builds a checkpoint file. Its buffers are kept between files.
type encoder struct {
	lines []byte
	count int
	file  []byte
}

// add appends "topic partition offset\n".
func (e *encoder) add(tp kafka.TopicPartition, o kafka.Offset) {
	e.lines = append(e.lines, tp.Topic...)
	e.lines = append(e.lines, ' ')
	e.lines = strconv.AppendInt(e.lines, int64(tp.Partition), 10)
	e.lines = append(e.lines, ' ')
	e.lines = strconv.AppendInt(e.lines, int64(o), 10)
	e.lines = append(e.lines, '\n')
	e.count++
}

// finish is the whole file; it is valid until the next finish.
func (e *encoder) finish() []byte {
	e.file = append(e.file[:0], strconv.Itoa(checkpointVersion)+"\n"...)
	e.file = strconv.AppendInt(e.file, int64(e.count), 10)
	e.file = append(e.file, '\n')
	e.file = append(e.file, e.lines...)
	e.lines, e.count = e.lines[:0], 0
	return e.file
}

// parseCheckpoint reads a checkpoint file. Anything that Kafka would not have
// written makes the whole file malformed: half of it can't be trusted either.
func parseCheckpoint(data []byte) (checkpoint, error) {
	version, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(bytes.TrimSpace(version)) != strconv.Itoa(checkpointVersion) {
		return nil, fmt.Errorf("checkpoint: %w: version %.20q, want %d", errMalformed, version, checkpointVersion)
	}
	count, rest, _ := bytes.Cut(rest, []byte("\n"))
	want, err := strconv.Atoi(string(bytes.TrimSpace(count)))
	if err != nil || want < 0 {
		return nil, fmt.Errorf("checkpoint: %w: count %.20q", errMalformed, count)
	}
	c := checkpoint{}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		tp, o, err := parseCheckpointLine(line)
		if err != nil {
			return nil, err
		}
		if _, twice := c[tp]; twice {
			return nil, fmt.Errorf("checkpoint: %w: %s is there twice", errMalformed, tp)
		}
		c[tp] = o
	}
	if len(c) != want {
		return nil, fmt.Errorf("checkpoint: %w: %d entries, its head says %d", errMalformed, len(c), want)
	}
	return c, nil
}

// parseCheckpointLine reads "topic partition offset".
func parseCheckpointLine(line []byte) (kafka.TopicPartition, kafka.Offset, error) {
	f := bytes.Fields(line)
	if len(f) != 3 {
		return kafka.TopicPartition{}, 0, fmt.Errorf("checkpoint: %w: line %.80q", errMalformed, line)
	}
	partition, err1 := strconv.ParseInt(string(f[1]), 10, 32)
	offset, err2 := strconv.ParseInt(string(f[2]), 10, 64)
	if err1 != nil || err2 != nil || partition < 0 || offset < 0 {
		return kafka.TopicPartition{}, 0, fmt.Errorf("checkpoint: %w: line %.80q", errMalformed, line)
	}
	return kafka.TopicPartition{Topic: string(f[0]), Partition: int32(partition)}, kafka.Offset(offset), nil
}
