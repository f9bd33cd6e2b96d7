package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

const (
	metadataFile    = "partition.metadata"
	metadataFileMax = 64 << 10
)

// checkMetadata compares partition.metadata with the topic id that the log is
// opened for, and writes a missing one.
func (l *Log) checkMetadata(exists bool) error {
	if l.topicID == kafka.NoTopicID {
		return nil
	}
	name := l.dir.Path() + "/" + metadataFile
	if exists {
		b, err := vfs.ReadFile(l.fs, name, metadataFileMax)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		id, err := parseMetadata(b)
		if err == nil && id != l.topicID {
			return fmt.Errorf("%w: %s has topic id %s, want %s", ErrCorrupt, name, id, l.topicID)
		}
		if err == nil {
			return nil
		}
		l.log.Warn("partition metadata can't be read, writing it again", "file", name, "err", err)
	}
	return writeFile(l.fs, name, []byte("version: 0\ntopic_id: "+l.topicID.String()))
}

// syncMetadata makes the topic id durable. It comes with the first Sync: data whose
// topic is not known would be worth nothing.
func (l *Log) syncMetadata() error {
	f, err := l.fs.OpenFile(l.dir.Path()+"/"+metadataFile, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) { // a log without a topic id
		return nil
	}
	if err != nil {
		return fmt.Errorf("sync topic id: %w", err)
	}
	return errors.Join(f.SyncData(), f.Close())
}

// parseMetadata reads the topic id.
func parseMetadata(b []byte) (kafka.TopicID, error) {
	for line := range strings.SplitSeq(string(b), "\n") {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "topic_id: "); ok {
			return kafka.ParseTopicID(id)
		}
	}
	return kafka.NoTopicID, fmt.Errorf("no topic_id in %d bytes", len(b))
}
