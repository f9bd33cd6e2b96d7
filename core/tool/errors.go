package tool

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/vfs"
)

// ErrUnknownFile says that a file's name is none of those in a partition directory.
var ErrUnknownFile = errors.New("not a log, index, snapshot or checkpoint file")

// malformed says what is wrong with the content of a small file. Other errors of
// its decoder are the file system's.
type malformed struct{ text string }

func (m *malformed) Error() string { return m.text }

func malformedf(format string, args ...any) error { return &malformed{fmt.Sprintf(format, args...)} }

// readWhole reads a small file. One over most bytes is malformed.
func readWhole(fsys vfs.FS, name string, most int64) ([]byte, error) {
	info, err := fsys.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, malformedf("file of %d bytes, the limit is %d", info.Size(), most)
	}
	return vfs.ReadFile(fsys, name, most)
}
