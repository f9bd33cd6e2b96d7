package logdir

import (
	"os"
	"path"

	"github.com/mortisemq/mortise/core/vfs"
)

// reserveFile names the file that holds space for hard times.
const reserveFile = ".mortise-reserve"

// DefaultReserveBytes is enough for the checkpoints of some ten thousand
// partitions, which are what deletion and shutdown write.
const DefaultReserveBytes = 4 << 20

// makeReserve writes the reserve unless it is there. Zeros are written, not
// promised: that holds the space on every file system.
func makeReserve(fsys vfs.FS, dir string, size int64) error {
	name := path.Join(dir, reserveFile)
	if info, err := fsys.Stat(name); err == nil && info.Size() == size {
		return nil
	}
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for off := int64(0); off < size && err == nil; off += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(int64(len(zeros)), size-off)], off)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = fsys.Remove(name) // half a reserve would take the space that is missing
	}
	return err
}

// dropReserve gives the space back.
func dropReserve(fsys vfs.FS, dir string) error { return fsys.Remove(path.Join(dir, reserveFile)) }
