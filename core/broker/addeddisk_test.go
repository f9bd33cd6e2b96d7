package broker_test

import (
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/vfs"
)

// TestDiskThatIsAdded: one disk more takes nothing away. What nobody ever wrote to, and only
// this broker has in sync, it leads again after a crash, as it does without the new disk.
func TestDiskThatIsAdded(t *testing.T) {
	replicate(t, brokertest.Options{LogDirs: []string{"/data/a"}}, func(s *trio) {
		s.topic(nil, on(1, 2))
		s.brokers[1].Stop()
		s.fence(2)
		s.fence(1)
		disk := s.brokers[0].FS().(*vfs.Mem).Crash(vfs.CrashOptions{KeepUnsynced: 1})
		s.brokers[0].Stop()
		control := s.brokers[0].Control
		b, err := broker.New(broker.Options{FS: disk, Net: s.net.Host("broker1"), NodeID: 1, LogDirs: []string{"/data/a", "/data/b"},
			Listeners: []broker.Listener{{Name: "PLAINTEXT", Address: s.brokers[0].Addr()}}, Control: control, Registrar: control})
		if err != nil {
			s.Fatal(err)
		}
		if err := b.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		synctest.Wait()
		if p := s.partition(); p.Leader != 1 {
			s.Errorf("nobody leads what has lost nothing: %+v", p)
		}
		if err := b.Close(s.Context()); err != nil {
			s.Fatal(err)
		}
	})
}
