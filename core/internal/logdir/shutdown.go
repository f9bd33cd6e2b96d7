package logdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// CleanShutdownFile names the mark of a clean shutdown.
const CleanShutdownFile = ".kafka_cleanshutdown"

// NoBrokerEpoch says that no registration is known.
const NoBrokerEpoch kafka.BrokerEpoch = -1

// cleanShutdownMax bounds what is read of the mark: Kafka's has some 40 bytes.
const cleanShutdownMax = 1 << 10

// takeCleanShutdown reports whether the directory was shut down cleanly, and by which
// registration of the broker (NoBrokerEpoch: the mark does not say), and removes the
// mark: a crash from here on is a crash (KAFKA-10471).
func takeCleanShutdown(fsys vfs.FS, dir string) (clean bool, epoch kafka.BrokerEpoch, err error) {
	name := path.Join(dir, CleanShutdownFile)
	if _, err := fsys.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false, NoBrokerEpoch, nil
	} else if err != nil {
		return false, NoBrokerEpoch, err
	}
	text, _ := vfs.ReadFile(fsys, name, cleanShutdownMax) //nolint:errcheck // that it is there counts
	if err := fsys.Remove(name); err != nil {
		return false, NoBrokerEpoch, err
	}
	return true, markedEpoch(text), fsys.SyncDir(dir)
}

// markedEpoch is the registration that a mark names. Older versions of Kafka left it
// empty, which is a mark all the same.
func markedEpoch(text []byte) kafka.BrokerEpoch {
	var mark struct {
		BrokerEpoch *kafka.BrokerEpoch `json:"brokerEpoch"`
	}
	if err := json.Unmarshal(text, &mark); err != nil || mark.BrokerEpoch == nil {
		return NoBrokerEpoch
	}
	return *mark.BrokerEpoch
}

// cleanShutdown is the mark's content: the broker's registration at that time.
func cleanShutdown(epoch kafka.BrokerEpoch) []byte {
	return fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, epoch)
}
