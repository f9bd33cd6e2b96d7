package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vfs"
)

// partition is partition 0 of topic t.
func (s *trio) partition() meta.Partition {
	topic, _ := s.brokers[0].Control.Image().Topic("t")
	return topic.Partitions[0]
}

// lastInSync has broker 1 lead a partition of which broker 2, which is stopped, lacks the
// last records, and fences it.
func (s *trio) lastInSync() {
	s.topic(nil, on(1, 2))
	c := s.producer(2)
	s.write(c, 0, 50)
	s.brokers[1].Stop()
	s.fence(2)
	s.write(c, 0, 5)
	s.fence(1)
}

// TestNewDiskOfTheLastInSync: a broker that led a partition alone and comes back with an
// empty disk leads nothing of it, however often it starts: its follower, which was behind,
// would be cut to nothing. Somebody has to choose that one.
func TestNewDiskOfTheLastInSync(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.lastInSync()
		s.brokers[0].RestartOn(vfs.NewMem())
		s.brokers[1].Restart()
		s.brokers[0].Restart()
		synctest.Wait()
		if p := s.partition(); p.Leader != kafka.NoBroker || p.LastKnownLeader != kafka.NoBroker {
			s.Fatalf("an empty disk leads: %+v", p)
		}
		s.brokers[0].Stop()
		s.fence(1)
		topic, _ := s.brokers[1].Control.Image().Topic("t")
		errs, err := s.brokers[1].Control.ElectLeaders(s.Context(), meta.Unclean, []meta.PartitionID{{Topic: topic.ID}})
		if err != nil || errs[0] != nil {
			s.Fatal(err, errs)
		}
		s.brokers[0].Restart()
		s.await(0, 2)
		s.write(s.producer(2), 0, 1) // another one: the first knows that records are lost
		s.brokers = s.brokers[:2]
		s.alike(0)
		if p := s.partition(); p.Leader != 2 {
			s.Errorf("%d leads, want 2", p.Leader)
		}
		if n := len(s.log(0, 0)); n < 50*60 {
			s.Errorf("%d bytes are left of 50 records", n)
		}
	})
}

// TestNewDiskOfAStartThatFailed: logs on a new disk that were made by a start which came to
// nothing, because an address was taken, are as empty as those that are not there.
func TestNewDiskOfAStartThatFailed(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.lastInSync()
		disk, control := vfs.NewMem(), s.brokers[0].Control
		failed, err := broker.New(broker.Options{FS: disk, Net: s.net.Host("broker1"), NodeID: 1, LogDirs: []string{"/data/logs"},
			Listeners: []broker.Listener{{Name: "PLAINTEXT", Address: s.brokers[0].Addr()}}, Control: control, Registrar: control})
		if err != nil {
			s.Fatal(err)
		}
		if err := failed.Start(s.Context()); err == nil || !strings.Contains(err.Error(), "already in use") {
			s.Errorf("%v, want that the address is taken", err)
		}
		if err := failed.Close(s.Context()); err != nil {
			s.Fatal(err)
		}
		s.brokers[0].RestartOn(disk)
		s.brokers[1].Restart()
		synctest.Wait()
		if p := s.partition(); p.Leader != kafka.NoBroker || p.LastKnownLeader != kafka.NoBroker {
			s.Errorf("an empty disk leads: %+v", p)
		}
	})
}

// nobody decides.
type nobody struct{}

func (nobody) RegisterBroker(context.Context, meta.Registration) (kafka.BrokerEpoch, error) {
	return 0, errors.New("nobody decides")
}

// TestDiskThatIsGoneAndAStartThatFailed: the logs of a disk that is changed, or taken away,
// are made anew on those that are left. That they are empty is known to a later start, too.
func TestDiskThatIsGoneAndAStartThatFailed(t *testing.T) {
	for name, changed := range map[string]bool{"changed": true, "taken away": false} {
		t.Run(name, func(t *testing.T) {
			replicate(t, brokertest.Options{LogDirs: []string{"/data/a", "/data/b"}}, func(s *trio) {
				s.brokers[0].AssignTopic("first", nil, on(1)) // on a
				s.lastInSync()                                // on b
				first, _ := s.brokers[0].Control.Image().Topic("first")
				if _, err := s.brokers[0].Control.DeleteTopics(s.Context(), []kafka.TopicID{first.ID}); err != nil {
					s.Fatal(err)
				}
				s.brokers[0].Stop()
				disk := s.brokers[0].FS()
				if _, err := disk.Stat("/data/b/t-0"); err != nil {
					s.Fatal(err)
				}
				if err := disk.RemoveAll("/data/b"); err != nil {
					s.Fatal(err)
				}
				dirs := []string{"/data/a", "/data/b"}
				if !changed {
					dirs = dirs[:1]
				}
				start := func(r meta.Registrar) error {
					b, err := broker.New(broker.Options{FS: disk, Net: s.net.Host("broker1"), NodeID: 1, LogDirs: dirs,
						Listeners: []broker.Listener{{Name: "PLAINTEXT", Address: s.brokers[0].Addr()}}, Control: s.brokers[0].Control, Registrar: r})
					if err != nil {
						s.Fatal(err)
					}
					err = b.Start(s.Context())
					synctest.Wait()
					return errors.Join(err, b.Close(s.Context()))
				}
				if err := start(nobody{}); err == nil {
					s.Fatal("it started without anybody who decides")
				}
				if _, err := disk.Stat("/data/a/t-0"); err != nil {
					s.Fatal("its log was not made on the old disk, so this shows nothing: ", err)
				}
				if err := start(s.brokers[0].Control); err != nil {
					s.Fatal(err)
				}
				if p := s.partition(); p.Leader != kafka.NoBroker || p.LastKnownLeader != kafka.NoBroker {
					s.Errorf("an empty log leads: %+v", p)
				}
			})
		})
	}
}

// TestLogsThatAreGone: a leader that stopped cleanly and whose log somebody removed is not
// in sync when it starts, although nobody missed it.
func TestLogsThatAreGone(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(nil, on(1, 2, 3))
		c := s.producer(1)
		s.write(c, 0, 20)
		s.fence(3)
		s.brokers[2].Restart()
		s.await(0, 3) // what nothing has happened to yet, nobody needs to have
		s.brokers[0].Stop()
		if err := s.brokers[0].FS().RemoveAll("/data/logs/t-0"); err != nil {
			s.Fatal(err)
		}
		s.brokers[0].Restart()
		s.await(0, 3)
		s.write(c, 0, 1)
		s.alike(0)
		if p := s.partition(); p.Leader == 1 {
			s.Error("it leads what it had lost")
		}
	})
}
