package logdir

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// deletedName matches a partition directory whose topic was deleted, Kafka's
// TOPIC-PARTITION.UUID-delete.
var deletedName = regexp.MustCompile(`^\S+-\S+\.\S+-delete$`)

// strayName matches a partition directory that was set aside.
var strayName = regexp.MustCompile(`^\S+-\S+\.\S+-stray$`)

// legalTopic matches Kafka's topic names.
var legalTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// parseName reads TOPIC-PARTITION.
func parseName(name string) (kafka.TopicPartition, bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 || !legalTopic.MatchString(name[:i]) {
		return kafka.TopicPartition{}, false
	}
	n, err := strconv.ParseUint(name[i+1:], 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != name[i+1:] {
		return kafka.TopicPartition{}, false
	}
	return kafka.TopicPartition{Topic: name[:i], Partition: int32(n)}, true
}

// metadataFile is Kafka's file with the topic id of a partition directory.
const metadataFile = "partition.metadata"

// maxMetadataBytes bounds what is read of partition.metadata.
const maxMetadataBytes = 4 << 10

// readTopicID reads the topic id of a partition directory. It is NoTopicID when
// the file is missing or does not say: a power failure can leave it so.
func readTopicID(fsys vfs.FS, dir string) (kafka.TopicID, error) {
	data, err := vfs.ReadFile(fsys, path.Join(dir, metadataFile), maxMetadataBytes)
	if isNotExist(err) {
		return kafka.NoTopicID, nil
	}
	if err != nil {
		return kafka.NoTopicID, err
	}
	for line := range bytes.Lines(data) {
		key, value, _ := strings.Cut(string(line), ":")
		if strings.TrimSpace(key) != "topic_id" {
			continue
		}
		id, err := kafka.ParseTopicID(strings.TrimSpace(value))
		if err != nil {
			return kafka.NoTopicID, nil
		}
		return id, nil
	}
	return kafka.NoTopicID, nil
}

// hasData reports whether a partition directory holds anything but its topic id.
func hasData(fsys vfs.FS, dir string) (bool, error) {
	entries, err := fsys.ReadDir(dir)
	if isNotExist(err) {
		return false, nil
	}
	for _, e := range entries {
		if e.Name() == metadataFile {
			continue
		}
		if info, err := e.Info(); err != nil || info.Size() > 0 {
			return true, err
		}
	}
	return false, err
}
