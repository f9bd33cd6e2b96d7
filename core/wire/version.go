package wire

// KeyProduce and the others are the API keys that this package knows by name.
const (
	KeyProduce     int16 = 0
	KeyFetch       int16 = 1
	KeyListOffsets int16 = 2
	KeyAPIVersions int16 = 18

	// KeyToken is the key of a frame that is a bare SASL token: Body is the token,
	// and the answer has no header either. No client can name it.
	KeyToken int16 = -1
)

// never stands for a key that has no flexible version.
const never = 1 << 14

// flexibleFrom is the first flexible version (KIP-482) of each key of Kafka 4.4.
var flexibleFrom = [...]int16{
	9, 12, 6, 9, 4, 2, 6, 3, 8, 6, // 0 Produce … 9 OffsetFetch
	3, 6, 4, 4, 4, 5, 3, never, 3, 5, // 10 FindCoordinator … 19 CreateTopics
	4, 2, 2, 4, 3, 3, 3, 1, 3, 2, // 20 DeleteTopics … 29 DescribeAcls
	2, 2, 4, 2, 2, 2, 2, 2, 2, 2, // 30 CreateAcls … 39 RenewDelegationToken
	2, 2, 2, 2, 1, 0, 0, never, 1, 1, // 40 … 49 AlterClientQuotas
	0, 0, 0, 1, 1, 0, 0, 0, 0, 0, // 50 … 59 FetchSnapshot
}

// Flexible reports whether a key's version has compact lengths and tags. Keys
// from 50 on are flexible from their first version, but for two of KRaft's.
func Flexible(key, version int16) bool {
	if key < 0 {
		return false
	}
	if int(key) < len(flexibleFrom) {
		return version >= flexibleFrom[key]
	}
	return true
}

// requestHeaderTags reports whether the request header ends in tags (version 2).
func requestHeaderTags(key, version int16) bool { return Flexible(key, version) }

// responseHeaderTags reports whether the response header ends in tags
// (version 1). ApiVersions never has them, so that a client that does not know
// the broker yet can read the answer (KIP-511).
func responseHeaderTags(key, version int16) bool {
	return key != KeyAPIVersions && Flexible(key, version)
}
