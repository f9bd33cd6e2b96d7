package cluster_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Nodes find their cluster by a name, and by a file that is read each time: its writer may
// come later than the node.
func TestNodesJoinByNameAndFile(t *testing.T) {
	t.Parallel() // it mostly waits
	first := nodetest.Start(t, nodetest.Options{Peer: "127.0.0.1:0"})
	_, port, err := net.SplitHostPort(first.PeerAddr())
	if err != nil {
		t.Fatal(err)
	}
	nodetest.Start(t, nodetest.Options{NodeID: 2, Peer: "127.0.0.1:0", Join: []string{"localhost:" + port}})
	file := filepath.Join(t.TempDir(), "peers")
	late := time.AfterFunc(100*time.Millisecond, func() {
		if err := os.WriteFile(file, []byte("# nobody is at the first one\n127.0.0.1:1\n"+first.PeerAddr()+"\n"), 0o600); err != nil {
			t.Error(err)
		}
	})
	defer late.Stop()
	nodetest.Start(t, nodetest.Options{NodeID: 3, Peer: "127.0.0.1:0", Join: []string{"@" + file}})
	first.Await(func(i *meta.Image) error {
		for id := kafka.BrokerID(1); id <= 3; id++ {
			if b, ok := i.Broker(id); !ok || !b.Active() {
				return fmt.Errorf("broker %d is %+v", id, b)
			}
		}
		return nil
	})
}
