package logdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// PropertiesFile names the file that says whose a log directory is.
const PropertiesFile = "meta.properties"

// maxPropertiesBytes bounds what is read of meta.properties.
const maxPropertiesBytes = 64 << 10

// Properties is the content of meta.properties, version 1.
type Properties struct {
	ClusterID   string
	NodeID      kafka.BrokerID
	DirectoryID kafka.TopicID
}

// ensureProperties reads the directory's properties, or writes fresh ones into a
// directory without. It refuses a directory of another cluster or node.
func ensureProperties(fsys vfs.FS, dir string, want Properties, now time.Time) (Properties, error) {
	name := path.Join(dir, PropertiesFile)
	data, err := vfs.ReadFile(fsys, name, maxPropertiesBytes)
	if errors.Is(err, fs.ErrNotExist) {
		want.DirectoryID = kafka.NewTopicID()
		return want, vfs.WriteFileAtomic(fsys, name, want.encode(now))
	}
	if err != nil {
		return Properties{}, err
	}
	got, err := parseProperties(data)
	if err != nil {
		return Properties{}, fmt.Errorf("%s: %w", name, err)
	}
	if got.ClusterID != want.ClusterID || got.NodeID != want.NodeID {
		return Properties{}, fmt.Errorf("%s: %w: it says cluster %s node %d, this broker is cluster %s node %d",
			name, ErrIdentity, got.ClusterID, got.NodeID, want.ClusterID, want.NodeID)
	}
	if got.DirectoryID == kafka.NoTopicID {
		got.DirectoryID = kafka.NewTopicID()
		return got, vfs.WriteFileAtomic(fsys, name, got.encode(now))
	}
	return got, nil
}

// encode is the file as Kafka writes it.
func (p Properties) encode(now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "#\n#%s\n", now.UTC().Format(time.UnixDate))
	fmt.Fprintf(&b, "cluster.id=%s\n", p.ClusterID)
	fmt.Fprintf(&b, "directory.id=%s\n", p.DirectoryID)
	fmt.Fprintf(&b, "node.id=%d\n", p.NodeID)
	fmt.Fprintf(&b, "version=1\n")
	return b.Bytes()
}

// parseProperties reads the file. Keys it does not know are left alone.
func parseProperties(data []byte) (Properties, error) {
	p := Properties{NodeID: kafka.NoBroker}
	version := ""
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(key, "#") || strings.HasPrefix(key, "!") {
			continue
		}
		value = strings.TrimSpace(value)
		var err error
		switch strings.TrimSpace(key) {
		case "version":
			version = value
		case "cluster.id":
			p.ClusterID = value
		case "directory.id":
			p.DirectoryID, err = kafka.ParseTopicID(value)
		case "node.id":
			var id int64
			id, err = strconv.ParseInt(value, 10, 32)
			p.NodeID = kafka.BrokerID(id)
		}
		if err != nil {
			return Properties{}, fmt.Errorf("%w: %q: %w", errMalformed, line, err)
		}
	}
	if version != "1" {
		return Properties{}, fmt.Errorf("%w: version %q, want 1", errMalformed, version)
	}
	return p, nil
}
