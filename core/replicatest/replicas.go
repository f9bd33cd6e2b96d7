package replicatest

import (
	"math/rand/v2"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Machine is what outlives a broker's process: its disk.
type Machine interface {
	// Start begins a process on the disk. The one before must have ended.
	Start(Env) (Replicas, error)
	// PowerCut takes away what was not made durable, as r decides. No process runs.
	PowerCut(r *rand.Rand)
	// Fill makes the disk full, or has room again.
	Fill(full bool)
	// Wipe makes the disk empty.
	Wipe()
}

// Env is what a process is told when it starts. Its calls come from inside calls of
// Replicas and must not call back.
type Env struct {
	ID  kafka.BrokerID
	Now func() time.Time // the node's clock, which may jump
	// ProposeISR is asked to change an ISR; the answer comes by ISRAnswered.
	ProposeISR func(meta.ISRChange)
	// Trace notes what happens; nil: nobody looks.
	Trace func(line string)
	// LagMax is replica.lag.time.max.ms.
	LagMax time.Duration
	Bug    Bug // to make
}

// Replicas is a broker's process as far as its replicas go.
type Replicas interface {
	// CleanEpoch is the broker epoch that the process before ended with in order;
	// ok false: it did not.
	CleanEpoch() (epoch kafka.BrokerEpoch, ok bool)
	// Registered says under which epoch the process is known to the cluster.
	Registered(epoch kafka.BrokerEpoch)
	// Apply takes the roles of an image.
	Apply(img *meta.Image)
	// Append is a producer's batch; done is called once, now or from a later call,
	// unless the process ends.
	Append(id meta.PartitionID, batch []byte, acks int16, done func(Appended))
	// Read is a consumer's fetch: whole batches from an offset on. epoch is the leader
	// epoch that the consumer knows.
	Read(id meta.PartitionID, epoch kafka.LeaderEpoch, from kafka.Offset) Fetched
	// Latest is ListOffsets for the end.
	Latest(id meta.PartitionID, epoch kafka.LeaderEpoch) (kafka.Offset, kafka.ErrorCode)
	// Earliest is ListOffsets for the start.
	Earliest(id meta.PartitionID, epoch kafka.LeaderEpoch) (kafka.Offset, kafka.ErrorCode)
	// DeleteRecords moves the log start of a partition that is led here to an offset,
	// and says where it is then.
	DeleteRecords(id meta.PartitionID, before kafka.Offset) (kafka.Offset, kafka.ErrorCode)
	// Retain is a round of retention over what is led here: keep segments stay of each
	// log, the newest.
	Retain(keep int)

	// Fetches takes out the requests that followers here want to send now.
	Fetches() []Request
	// Serve answers a follower's request. ready false: there is nothing for it yet; the
	// leader asks again when something changed, with again.
	Serve(from kafka.BrokerID, request any, again bool) (response any, ready bool)
	// Answered gives the response of a request of Fetches; nil: it failed.
	Answered(q Request, response any)

	// Full says that the disk has no room.
	Full() bool
	// ISRAnswered says what became of a proposal, and hears whether to propose it again.
	ISRAnswered(c meta.ISRChange, r meta.ISRResult) (retry bool)
	// Tick lets time pass: the look at followers that lag, back-off, checkpoints.
	Tick()

	// Stop ends the process in order; an error says that the next one will not take it
	// for that. Kill ends it at once.
	Stop() error
	Kill()

	// Held are the replicas here, in the order of topic id and partition.
	Held() []meta.PartitionID
	// State is a replica as it is, for checkers.
	State(id meta.PartitionID) (State, bool)
	// Batches reads the log from an offset up to another, whoever leads, for checkers.
	Batches(id meta.PartitionID, from, to kafka.Offset) ([][]byte, error)
}

// Appended is what a producer is told.
type Appended struct {
	Code kafka.ErrorCode
	Base kafka.Offset
}

// Fetched is what a reader gets.
type Fetched struct {
	Code          kafka.ErrorCode
	HighWatermark kafka.Offset
	Batches       [][]byte
}

// Request is a follower's fetch on its way to a leader.
type Request struct {
	To   kafka.BrokerID
	Body any
}

// State is one replica.
type State struct {
	Start, HighWatermark, End kafka.Offset
	Leading                   bool
	Epoch                     kafka.LeaderEpoch
	Failed                    bool // its disk failed; it waits for a restart
}
