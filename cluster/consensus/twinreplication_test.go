package consensus

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// What leaders and operators ask about replicas is decided alike, too.
func TestDecidesAboutReplicasAsTheTwinDoes(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			group, twin := open(t, ""), brokertest.NewControl("c")
			if err := group.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			both := func(what string, ask func(meta.Control, meta.Registrar) string) {
				if a, b := ask(group, group), ask(twin, twin); a != b {
					t.Fatalf("%s:\n%s\nthe twin says\n%s", what, a, b)
				}
				if a, b := picture(group.Image()), picture(twin.Image()); a != b {
					t.Fatalf("after %s the image is\n%s\nthe twin's is\n%s", what, a, b)
				}
			}
			for id := kafka.BrokerID(1); id <= 4; id++ {
				both("registration", func(_ meta.Control, r meta.Registrar) string {
					_, err := r.RegisterBroker(t.Context(), meta.Registration{ID: id, CleanShutdown: true, MinISR: 2, Peer: "p"})
					return fmt.Sprint(err)
				})
			}
			both("creation", func(c meta.Control, _ meta.Registrar) string {
				_, err := c.CreateTopics(t.Context(), []meta.NewTopic{{Name: "t", Assignment: [][]kafka.BrokerID{{1, 2, 3}, {2, 3, 4}}}}, false)
				return fmt.Sprint(err)
			})
			for range 80 {
				what, ask := anyAboutReplicas(t, random)
				both(what, ask)
			}
		})
	}
}

// anyAboutReplicas asks something about a topic that is there.
func anyAboutReplicas(t *testing.T, random *rand.Rand) (what string, ask func(meta.Control, meta.Registrar) string) {
	number, kind := int32(random.IntN(3)), meta.ElectionKind(random.IntN(2))
	keep, stale, all := random.IntN(2) == 0, random.IntN(4) == 0, random.IntN(2) == 0
	var replicas []kafka.BrokerID
	for id := kafka.BrokerID(1); id <= 4; id++ {
		if random.IntN(2) == 0 {
			replicas = append(replicas, id)
		}
	}
	broker := kafka.BrokerID(1 + random.IntN(5))
	state := func(c meta.Control) (id meta.PartitionID, p meta.Partition) {
		topic, _ := c.Image().Topic("t")
		if int(number) < len(topic.Partitions) {
			p = topic.Partitions[number]
		}
		return meta.PartitionID{Topic: topic.ID, Partition: number}, p
	}
	what = fmt.Sprintf("request about %d: %v, kind %d, keep %v, stale %v, all %v, broker %d", number, replicas, kind, keep, stale, all, broker)
	return what, []func(meta.Control, meta.Registrar) string{
		func(c meta.Control, _ meta.Registrar) string {
			id, p := state(c)
			change := meta.ISRChange{PartitionID: id, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Recovered: keep}
			for _, r := range replicas {
				change.ISR = append(change.ISR, meta.ISRReplica{ID: r, Epoch: -1})
			}
			var epoch kafka.BrokerEpoch
			if b, ok := c.Image().Broker(p.Leader); ok && !stale {
				epoch = b.Epoch
			}
			results, err := c.AlterISR(t.Context(), p.Leader, epoch, []meta.ISRChange{change})
			out := fmt.Sprint(err != nil)
			for _, r := range results {
				out += fmt.Sprintln(errorText(r.Err), r.State)
			}
			return out
		},
		func(c meta.Control, _ meta.Registrar) string {
			partitions := []meta.PartitionID{}
			if id, _ := state(c); all {
				partitions = nil
			} else {
				partitions = append(partitions, id)
			}
			errs, err := c.ElectLeaders(t.Context(), kind, partitions)
			return errorTexts(errs, err)
		},
		func(c meta.Control, _ meta.Registrar) string {
			id, _ := state(c)
			errs, err := c.AlterReassignments(t.Context(), []meta.Reassignment{{PartitionID: id, Replicas: replicas, KeepFactor: keep}})
			return errorTexts(errs, err)
		},
		func(c meta.Control, _ meta.Registrar) string {
			if !stale {
				return "" // seldom
			}
			return fmt.Sprint(c.UnregisterBroker(t.Context(), broker))
		},
		func(_ meta.Control, r meta.Registrar) string {
			_, err := r.RegisterBroker(t.Context(), meta.Registration{ID: min(broker, 4), CleanShutdown: keep, MinISR: 2, Peer: "p"})
			return fmt.Sprint(err)
		},
	}[random.IntN(5)]
}
