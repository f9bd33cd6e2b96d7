package tool

import (
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// maxTextBytes bounds a checkpoint file.
const maxTextBytes = 16 << 20

// epochEntry says where a leader epoch starts.
type epochEntry struct {
	epoch kafka.LeaderEpoch
	start kafka.Offset
}

// readLines reads a checkpoint: a version line "0", a count, and that many lines
// of a fixed number of fields. An empty file has no entries.
func readLines(fsys vfs.FS, name string, fields int) ([][]string, error) {
	data, err := readWhole(fsys, name, maxTextBytes)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, nil // Kafka makes the file before it has something to write
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) < 2 {
		return nil, malformedf("checkpoint of %d lines, want a version and a count", len(lines))
	}
	if v := strings.TrimSpace(lines[0]); v != "0" {
		return nil, malformedf("checkpoint has version %q, want 0", v)
	}
	count, err := strconv.Atoi(strings.TrimSpace(lines[1]))
	if err != nil || count != len(lines)-2 {
		return nil, malformedf("checkpoint says %q entries and has %d", lines[1], len(lines)-2)
	}
	var out [][]string
	for i, line := range lines[2:] {
		f := strings.Fields(line)
		if len(f) != fields {
			return nil, malformedf("line %d of the checkpoint has %d fields, want %d", i+3, len(f), fields)
		}
		out = append(out, f)
	}
	return out, nil
}

// readEpochs reads a leader-epoch-checkpoint.
func readEpochs(fsys vfs.FS, name string) ([]epochEntry, error) {
	lines, err := readLines(fsys, name, 2)
	if err != nil {
		return nil, err
	}
	var out []epochEntry
	for _, f := range lines {
		epoch, err1 := strconv.ParseInt(f[0], 10, 32)
		start, err2 := strconv.ParseInt(f[1], 10, 64)
		if err1 != nil || err2 != nil {
			return nil, malformedf("checkpoint line %q: want two numbers", strings.Join(f, " "))
		}
		out = append(out, epochEntry{kafka.LeaderEpoch(epoch), kafka.Offset(start)})
	}
	return out, nil
}

// epochAt is the epoch that the entries give for an offset; NoLeaderEpoch if it
// lies before all of them.
func epochAt(epochs []epochEntry, at kafka.Offset) kafka.LeaderEpoch {
	epoch := kafka.NoLeaderEpoch
	for _, e := range epochs {
		if e.start > at {
			break
		}
		epoch = e.epoch
	}
	return epoch
}

// readTopicID reads a partition.metadata.
func readTopicID(fsys vfs.FS, name string) (kafka.TopicID, error) {
	data, err := readWhole(fsys, name, maxTextBytes)
	if err != nil {
		return kafka.NoTopicID, err
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 2 || strings.TrimSpace(lines[0]) != "version: 0" {
		return kafka.NoTopicID, malformedf("partition.metadata starts with %q, want version: 0 and topic_id", lines[0])
	}
	id, ok := strings.CutPrefix(strings.TrimSpace(lines[1]), "topic_id: ")
	if !ok {
		return kafka.NoTopicID, malformedf("partition.metadata line %q, want topic_id: ID", lines[1])
	}
	topic, err := kafka.ParseTopicID(id)
	if err != nil {
		return kafka.NoTopicID, malformedf("partition.metadata: %v", err)
	}
	return topic, nil
}
