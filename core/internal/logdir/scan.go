package logdir

import (
	"fmt"
	"path"

	"github.com/mortisemq/mortise/core/kafka"
)

// scan lists the partition directories.
func (s *Set) scan(d *Dir) error {
	entries, err := s.fs.ReadDir(d.Path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strayName.MatchString(name) {
			continue
		}
		if deletedName.MatchString(name) {
			s.deleted = append(s.deleted, path.Join(d.Path, name))
			continue
		}
		tp, ok := parseName(name)
		if !ok {
			s.log.Warn("not a partition directory; left alone", "dir", d.Path, "name", name)
			continue
		}
		if first, twice := s.found[tp]; twice {
			s.log.Error("a partition is in two log directories; the first is used", "partition", tp.String(), "first", first.Path, "second", d.Path)
			continue
		}
		s.found[tp] = d
	}
	return nil
}

// Dirs are all directories, also those that are offline.
func (s *Set) Dirs() []*Dir { return s.dirs }

// Found are the partition directories that were there at the start. The caller
// must not change the map.
func (s *Set) Found() map[kafka.TopicPartition]*Dir { return s.found }

// TopicIDOnDisk reads the topic id that the partition directory of tp carries;
// NoTopicID when it carries none.
func (s *Set) TopicIDOnDisk(d *Dir, tp kafka.TopicPartition) kafka.TopicID {
	return readTopicID(s.fs, d.PartitionPath(tp))
}

// RemoveDeleted removes what earlier deletions left. A directory that can't be
// removed is reported and tried again at the next start.
func (s *Set) RemoveDeleted() {
	for _, name := range s.deleted {
		if err := s.fs.RemoveAll(name); err != nil {
			s.log.Warn("a deleted partition could not be removed; it is tried again at the next start", "path", name, "err", err)
		}
	}
	s.deleted = nil
}

// SetAside renames a partition directory that belongs to no partition of this
// broker to TOPIC-PARTITION.UUID-stray. Nothing in it is deleted.
func (s *Set) SetAside(d *Dir, tp kafka.TopicPartition) (string, error) {
	id := kafka.NewTopicID()
	to := fmt.Sprintf("%s.%x-stray", d.PartitionPath(tp), id[:])
	if err := s.fs.Rename(d.PartitionPath(tp), to); err != nil {
		return "", err
	}
	return to, s.fs.SyncDir(d.Path)
}

// Place chooses the directory for a new log: the one with the fewest logs.
func (s *Set) Place() (*Dir, error) {
	var best *Dir
	least := 0
	for _, d := range s.dirs {
		if d.Offline() != nil {
			continue
		}
		if n := d.count(); best == nil || n < least {
			best, least = d, n
		}
	}
	if best == nil {
		return nil, ErrNoDirectory
	}
	return best, nil
}
