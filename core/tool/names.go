package tool

import (
	"path"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// kind is what a file of a partition directory holds.
type kind int

const (
	otherFile kind = iota
	logFile
	indexFile
	timeIndexFile
	txnIndexFile
	snapshotFile
	epochFile
	metadataFile
	checkpointFile // of a data directory: "topic partition offset" lines
)

const offsetDigits = 20

const (
	epochFileName    = "leader-epoch-checkpoint"
	metadataFileName = "partition.metadata"
)

var kindOfSuffix = map[string]kind{
	".log": logFile, ".index": indexFile, ".timeindex": timeIndexFile,
	".txnindex": txnIndexFile, ".snapshot": snapshotFile,
}

var checkpointNames = map[string]bool{
	"recovery-point-offset-checkpoint": true, "log-start-offset-checkpoint": true,
	"replication-offset-checkpoint": true, "cleaner-offset-checkpoint": true,
}

// fileKind tells a file by its name, and the offset that stands in it (NoOffset
// if none does).
func fileKind(name string) (kind, kafka.Offset) {
	name = path.Base(strings.ReplaceAll(name, "\\", "/"))
	switch {
	case name == epochFileName:
		return epochFile, kafka.NoOffset
	case name == metadataFileName:
		return metadataFile, kafka.NoOffset
	case checkpointNames[name]:
		return checkpointFile, kafka.NoOffset
	}
	suffix := path.Ext(name)
	k, digits := kindOfSuffix[suffix], strings.TrimSuffix(name, suffix)
	if k == otherFile || len(digits) != offsetDigits {
		return otherFile, kafka.NoOffset
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return otherFile, kafka.NoOffset
	}
	return k, kafka.Offset(n)
}

// companion is the name of another file of the same segment.
func companion(logName, suffix string) string {
	return strings.TrimSuffix(logName, ".log") + suffix
}
