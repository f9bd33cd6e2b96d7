package consensus

import (
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// segments are the files of the log. When a new leader takes back what an old one wrote
// and nobody decided, raft-wal 0.4 seals the last file without the index that it wants
// to find in a sealed one, and does not open the log again. Such a file is read as the
// last one is: from its start to its last good write.
type segments struct{ types.SegmentFiler }

// newSegments are those of a directory.
func newSegments(dir string) segments { return segments{segment.NewFiler(dir, fs.New())} }

// Open implements types.SegmentFiler.
func (s segments) Open(info types.SegmentInfo) (types.SegmentReader, error) {
	if info.IndexStart == 0 {
		return s.RecoverTail(info)
	}
	return s.SegmentFiler.Open(info)
}
