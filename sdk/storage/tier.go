package storage

import "context"

// Tier keeps sealed segments elsewhere: an object store, another disk. It works on
// files by name, never on streams: what it copies are links that the broker made in a
// folder of its own, and what it fetches goes into a file that the broker made, so that
// the broker can serve it by sendfile like any other segment.
//
// This is a draft. No broker asks a Tier yet, and its form may change until one does.
//
// Obligations of a Tier:
//
//  1. CopySegment is idempotent by Segment.UUID and overwrites what an attempt that
//     broke off has left. When it returns without an error, all of the segment can be
//     fetched. Each attempt after a failure has a new UUID.
//  2. FetchRange writes the bytes from Start to End, exclusive, into Into from its
//     beginning, and nothing else anywhere. Fewer bytes are an error.
//  3. Delete of a segment that is not there is no error.
//  4. A file is opened by the name that the broker gave, inside the folders that it
//     gave. The plugin makes no other file there and removes none.
//  5. Custom is at most MaxTierCustom bytes; the broker keeps it and gives it back.
//  6. Every method is safe for concurrent use and returns soon after ctx is done.
//
// The broker trusts no byte that comes back: it checks size, checksums of batches,
// base offset, and for whole segments the digest that it took when it made the copy.
type Tier interface {
	// CopySegment copies a sealed segment. The broker waits 10 minutes, and an error
	// keeps the local data.
	CopySegment(ctx context.Context, c *TierCopy) (TierCopied, error)
	// FetchRange fetches part of a segment's log into a file. The broker waits 30 s; it
	// goes on when the client that wanted it has given up, and keeps the result.
	FetchRange(ctx context.Context, f *TierFetch) error
	// FetchIndexes fetches the indexes of a segment. A transaction index that was not
	// copied is left out of the answer.
	FetchIndexes(ctx context.Context, s TierSegment, into TierFiles) (TierFiles, error)
	// Delete removes segments. The broker asks again until it succeeds.
	Delete(ctx context.Context, all []TierSegment) error
	// List calls yield with what is stored of a topic, to find what nobody knows of.
	List(ctx context.Context, topicID [16]byte, yield func(TierSegment) error) error
}

// Bounds of a Tier's questions and answers.
const (
	MaxTierCustom  = 128 // bytes, as Kafka's
	MaxTierDeletes = 1000
)

// TierSegment names one copy of a segment.
type TierSegment struct {
	UUID       [16]byte // of this attempt to copy it
	Topic      string
	TopicID    [16]byte
	Partition  int32
	BaseOffset int64
	NextOffset int64 // exclusive end
	Bytes      int64 // of its log
	Custom     []byte
}

// TierFiles are names of a segment's files; empty: there is none.
type TierFiles struct {
	Log, OffsetIndex, TimeIndex, TransactionIndex, ProducerSnapshot string
}

// TierCopy asks for a copy.
type TierCopy struct {
	Segment TierSegment
	Facts   SegmentFacts
	Files   TierFiles // read only
	Digest  [32]byte  // SHA-256 of the log
	// LeaderEpochs is the segment's part of the leader epoch file, as Kafka writes it.
	LeaderEpochs []byte
	// BytesPerSecond bounds the copying; 0: no bound.
	BytesPerSecond int64
}

// TierCopied answers a TierCopy.
type TierCopied struct {
	Custom []byte // at most MaxTierCustom
}

// TierFetch asks for part of a segment's log.
type TierFetch struct {
	Segment    TierSegment
	Start, End int64  // bytes of the log, End exclusive
	Into       string // an empty file that the broker made
}
