package logdir

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// futureName matches a copy that was to take a log's place, Kafka's
// TOPIC-PARTITION.UUID-future.
var futureName = regexp.MustCompile(`^(\S+)\.[0-9a-f]{32}-future$`)

// preferredMax bounds the directories that are remembered for logs that are not there
// yet.
const preferredMax = 10_000

// Future is a copy that was found at the start.
type Future struct {
	Dir  *Dir
	TP   kafka.TopicPartition
	Path string
}

// parseFuture reads TOPIC-PARTITION.UUID-future.
func parseFuture(name string) (kafka.TopicPartition, bool) {
	m := futureName.FindStringSubmatch(name)
	if m == nil {
		return kafka.TopicPartition{}, false
	}
	return parseName(m[1])
}

// FuturePath is a folder for a copy of tp in this directory, a new one with each call.
func (d *Dir) FuturePath(tp kafka.TopicPartition) string {
	id := kafka.NewTopicID()
	return path.Join(d.Path, fmt.Sprintf("%s.%x-future", tp, id[:]))
}

// FutureFits reports whether the name of a copy of tp is short enough for a folder.
func FutureFits(tp kafka.TopicPartition) bool {
	return len(tp.String())+len(".-future")+2*len(kafka.TopicID{}) <= kafka.FolderNameMax
}

// FoundFutures are the copies that were there at the start.
func (s *Set) FoundFutures() []Future { return s.futures }

// AddFuture makes a copy known: it hears when the directory fails, and clients see it.
func (d *Dir) AddFuture(r Replica) {
	d.members.mu.Lock()
	defer d.members.mu.Unlock()
	d.members.futures[r.TopicPartition()] = r
}

// RemoveFuture forgets a copy, if it is the one that is known.
func (d *Dir) RemoveFuture(r Replica) {
	d.members.mu.Lock()
	defer d.members.mu.Unlock()
	if tp := r.TopicPartition(); d.members.futures[tp] == r {
		delete(d.members.futures, tp)
	}
}

// Futures are the copies that are being made, in no particular order.
func (d *Dir) Futures() []Replica {
	d.members.mu.Lock()
	defer d.members.mu.Unlock()
	all := make([]Replica, 0, len(d.members.futures))
	for _, r := range d.members.futures {
		all = append(all, r)
	}
	return all
}

// Twins are the partitions that were found in several directories at the start, and
// those directories. The caller must not change the map; Keep does.
func (s *Set) Twins() map[kafka.TopicPartition][]*Dir { return s.twins }

// Keep says which of the twins is the log of tp. The others' folders are renamed as
// for a deletion, and removed with RemoveDeleted. It belongs to the start, when nobody
// else looks for what was found.
func (s *Set) Keep(tp kafka.TopicPartition, here *Dir) error {
	all := s.twins[tp]
	delete(s.twins, tp)
	s.found[tp] = here
	var errs []error
	for _, d := range all {
		if d != here && d.Offline() == nil {
			errs = append(errs, s.discard(d, tp))
		}
	}
	return errors.Join(errs...)
}

// discard renames the folder of tp as for a deletion, if it was not set aside.
func (s *Set) discard(d *Dir, tp kafka.TopicPartition) error {
	to := path.Join(d.Path, tp.DeletedName(kafka.NewTopicID()))
	err := s.fs.Rename(d.PartitionPath(tp), to)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: discard a second copy: %w", tp, err)
	}
	s.deleted = append(s.deleted, to)
	d.Remove(tp)
	return s.fs.SyncDir(d.Path)
}

// RemoveFound removes a copy that was found at the start and that nobody needs.
func (s *Set) RemoveFound(f Future) error {
	to := strings.TrimSuffix(f.Path, "-future") + "-delete"
	if err := s.fs.Rename(f.Path, to); err != nil {
		return fmt.Errorf("remove %s: %w", f.Path, err)
	}
	return s.fs.RemoveAll(to)
}

// ByPath is the directory with a path, as it was configured; nil: there is none.
func (s *Set) ByPath(p string) *Dir {
	for _, d := range s.dirs {
		if d.Path == p {
			return d
		}
	}
	return nil
}

// Prefer remembers the directory for a log that is not there yet, until it is made or
// the broker stops. Beyond a bound of thousands nothing more is remembered.
func (s *Set) Prefer(tp kafka.TopicPartition, d *Dir) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.preferred[tp]; known || len(s.preferred) < preferredMax {
		s.preferred[tp] = d
	}
}

// takePreferred is the directory that was preferred for tp, and forgets it.
func (s *Set) takePreferred(tp kafka.TopicPartition) *Dir {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.preferred[tp]
	delete(s.preferred, tp)
	return d
}
