package broker

import (
	"github.com/mortisemq/mortise/core/internal/server"
	"github.com/mortisemq/mortise/core/wire"
)

// The keys whose answers wait for the other members of a group.
const (
	keyJoinGroup int16 = 11
	keySyncGroup int16 = 14
)

// nature is how the server treats the requests of a key: those that move records
// must be fast, all others are bounded.
func nature(key int16) server.Nature {
	switch key {
	case wire.KeyProduce:
		return server.Nature{Large: true, Pipelined: true}
	case wire.KeyFetch:
		return server.Nature{Pipelined: true}
	case keyJoinGroup, keySyncGroup:
		return server.Nature{Waits: true}
	}
	return server.Nature{}
}
