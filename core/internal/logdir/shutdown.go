package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// CleanShutdownFile names the mark of a clean shutdown.
const CleanShutdownFile = ".kafka_cleanshutdown"

// takeCleanShutdown reports whether the directory was shut down cleanly, and
// removes the mark: a crash from here on is a crash (KAFKA-10471).
func takeCleanShutdown(fsys vfs.FS, dir string) (bool, error) {
	name := path.Join(dir, CleanShutdownFile)
	if _, err := fsys.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := fsys.Remove(name); err != nil {
		return false, err
	}
	return true, fsys.SyncDir(dir)
}

// cleanShutdown is the mark's content: the broker's registration at that time.
func cleanShutdown(epoch kafka.BrokerEpoch) []byte {
	return fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, epoch)
}
