package consensus

import (
	"testing"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// BenchmarkCommandOfThree is one small command of three voters on loopback and disk, by
// its way: through the leader and through another node.
func BenchmarkCommandOfThree(b *testing.B) {
	var first string
	var groups []*Group
	for id := kafka.BrokerID(1); id <= 3; id++ {
		port, err := peer.Listen(peer.Options{Address: "127.0.0.1:0", Node: id})
		if err != nil {
			b.Fatal(err)
		}
		defer port.Close()
		o := Options{Dir: b.TempDir(), NodeID: id, Port: port}
		if id == 1 {
			first = port.Advertised()
		} else {
			o.Join = func() []string { return []string{first} }
		}
		g, err := Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		defer g.Close()
		if err := g.Current(b.Context()); err != nil {
			b.Fatal(err)
		}
		if groups = append(groups, g); id > 1 {
			if err := groups[0].Promote(b.Context(), id); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, g := range map[string]*Group{"leader": groups[0], "follower": groups[1]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := g.AllocateProducerIDs(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
