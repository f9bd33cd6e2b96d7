package segment

import (
	"errors"
	"io/fs"
	"os"
)

// Sync makes the segment durable: its data, a shorter size after a recovery too,
// the aborted transactions, without which readers would take aborted data for
// committed, and what was written of the indexes. Half of a time index looks like
// one of records whose times do not rise, and would hide the later ones for ever.
// It runs beside appends.
//
// Cost: one fdatasync; one more if a transaction was aborted, two more if the
// indexes were written, which happens when the segment is full and once in
// IndexFlushEntries before.
func (s *Segment) Sync() error {
	s.mu.Lock()
	txns, cut, idx := s.txnDirty, s.wasCut, s.idxDirty
	s.txnDirty, s.wasCut, s.idxDirty = false, false, false
	s.mu.Unlock()
	err := s.sync(txns, cut, idx)
	if err != nil {
		s.mu.Lock()
		s.txnDirty, s.wasCut, s.idxDirty = s.txnDirty || txns, s.wasCut || cut, s.idxDirty || idx
		s.mu.Unlock()
	}
	return err
}

func (s *Segment) sync(txns, cut, idx bool) error {
	var small []Ext
	if txns {
		small = append(small, TxnIndex)
	}
	if idx {
		small = append(small, Index, TimeIndex)
	}
	for _, ext := range small {
		if err := s.syncSmall(ext); err != nil {
			return err
		}
	}
	if s.Size() == 0 && !cut {
		return nil
	}
	h, err := s.acquire(false)
	if err != nil {
		return err
	}
	defer h.unref()
	return h.file.SyncData()
}

// syncSmall makes one of the index files durable, if there still is one.
func (s *Segment) syncSmall(ext Ext) error {
	f, err := s.dir.Files.openFile(s.dir.FS, s.Path(ext), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.SyncData(), f.Close())
}

// Changed tells whether a Sync is needed for another reason than new data: the file
// was recovered, or one of its indexes written.
func (s *Segment) Changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wasCut || s.txnDirty || s.idxDirty
}
