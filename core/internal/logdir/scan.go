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
		if tp, ok := parseFuture(name); ok {
			s.futures = append(s.futures, Future{Dir: d, TP: tp, Path: path.Join(d.Path, name)})
			continue
		}
		tp, ok := parseName(name)
		if !ok {
			s.log.Warn("not a partition directory; left alone", "dir", d.Path, "name", name)
			continue
		}
		d.members.found(tp)
		if first, twice := s.found[tp]; twice {
			if s.twins[tp] == nil {
				s.twins[tp] = []*Dir{first}
			}
			s.twins[tp] = append(s.twins[tp], d)
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

// Owner is whose data a partition directory holds.
type Owner struct {
	TopicID kafka.TopicID // NoTopicID: the directory does not say
	Nothing bool          // there is no such directory, or no data in it; only with NoTopicID
}

// Owner reads who owns the partition directory of tp. Data is on the disk before or
// after the id of its topic, so data without an id can be anybody's: also that of a
// deleted topic of the same name.
//
// Cost: an open and a read; without an id also a ReadDir.
func (d *Dir) Owner(tp kafka.TopicPartition) (Owner, error) {
	name := d.PartitionPath(tp)
	id, err := readTopicID(d.set.fs, name)
	if err != nil || id != kafka.NoTopicID {
		return Owner{TopicID: id}, err
	}
	data, err := hasData(d.set.fs, name)
	return Owner{Nothing: !data}, err
}

// Of reports whether the directory may be opened as topic id's: it says so, or there
// is nothing that could be another's.
func (o Owner) Of(id kafka.TopicID) bool { return o.TopicID == id || o.Nothing }

// String is for messages about a directory that belongs to somebody else.
func (o Owner) String() string {
	if o.TopicID == kafka.NoTopicID {
		return "it has data and no topic id"
	}
	return "it belongs to topic id " + o.TopicID.String()
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
	d.Remove(tp)
	return to, s.fs.SyncDir(d.Path)
}

// Place chooses the directory for a new log of tp: the one that was preferred, or the
// one with the fewest logs.
func (s *Set) Place(tp kafka.TopicPartition) (*Dir, error) {
	if d := s.takePreferred(tp); d != nil && d.Offline() == nil {
		return d, nil
	}
	return s.emptiest()
}

// emptiest is the directory with the fewest logs.
func (s *Set) emptiest() (*Dir, error) {
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
