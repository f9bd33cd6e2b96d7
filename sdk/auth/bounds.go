package auth

// Bounds of what a plugin may answer and be asked, in bytes where nothing else is
// said. A longer credential is rejected without asking; a longer answer counts as none.
const (
	MaxTypeBytes       = 64   // a principal's type
	MaxNameBytes       = 1024 // a principal's or a user's name, a resource's name
	MaxGroups          = 1024 // groups of a principal
	MaxGroupBytes      = 256
	MaxReasonBytes     = 1024
	MaxSecretBytes     = 64 << 10 // a password or a token
	MaxChain           = 16       // certificates
	MaxChainBytes      = 1 << 20
	MaxSaltBytes       = 256
	MinScramIterations = 4096 // as Kafka's
	MaxScramIterations = 1 << 20
	MaxRules           = 100_000  // pushed or stored
	MaxRulesBytes      = 16 << 20 // names, principals and hosts of them together
)

// ScramKeyBytes is the length of a mechanism's stored and server key; 0 if it is no
// mechanism of SCRAM.
func ScramKeyBytes(mechanism string) int {
	switch mechanism {
	case "SCRAM-SHA-256":
		return 32
	case "SCRAM-SHA-512":
		return 64
	}
	return 0
}
