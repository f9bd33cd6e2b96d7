package replicatest

// Bug is a mistake that is made on purpose, so that a test can show that the checkers
// of a simulation find it.
type Bug uint8

// The bugs.
const (
	NoBug Bug = iota
	// SkipTruncation: a follower does not say which epoch its log ends in, so that it
	// is never told to cut off what its leader does not have (KIP-101, KIP-595).
	SkipTruncation
	// TruncateToHighWatermark: a new follower cuts its log to its own high watermark,
	// which is late (what KIP-101 did away with).
	TruncateToHighWatermark
	// TrustHighWatermark: a leader tells followers that everything it has is committed.
	TrustHighWatermark
	// AckBeforeISR: a producer is answered as soon as the leader has its batch.
	AckBeforeISR
	// JoinWithoutCatchingUp: a leader asks for every replica that it hears of.
	JoinWithoutCatchingUp
	// ShrinkBeforeCommit: a leader counts without a lagging follower before the cluster
	// has agreed to that (KIP-497).
	ShrinkBeforeCommit
	// IgnoreMinISR: a leader commits although fewer than min.insync.replicas are in
	// sync (KIP-966).
	IgnoreMinISR
	// IgnoreISREpoch: the cluster changes an ISR without comparing epochs.
	IgnoreISREpoch
	// IgnoreUncleanShutdown: a broker says that it stopped in order when it did not.
	IgnoreUncleanShutdown
	// ElectAnybody: a replica that is not in sync is elected when none that is is alive.
	ElectAnybody
	// IgnoreDuplicates: a leader appends a batch that an idempotent producer repeats.
	IgnoreDuplicates
	// StopWithoutSync: a broker that stops in order leaves records in the page cache.
	StopWithoutSync
	// IgnoreBrokerEpoch: a leader's wish for an ISR is granted although a replica was
	// started anew since (KIP-903).
	IgnoreBrokerEpoch
	// EverybodyEligible: who leaves the ISR stays eligible although enough remain in sync
	// to commit without it (KIP-966).
	EverybodyEligible
	// RememberFollowers: a leader that leads again, and did not hear that another led in
	// between, remembers what its followers had.
	RememberFollowers
	// UnregisteredStays: a broker that is unregistered keeps its places in ISR and ELR,
	// and what it leads.
	UnregisteredStays
	// MoveAtOnce: a reassignment is over as soon as it begins, before the new replicas
	// have caught up.
	MoveAtOnce
	// KeepVotes: a voter that is gone for good keeps its vote.
	KeepVotes
	// DeleteUncommitted: DeleteRecords goes beyond the high watermark (KIP-107).
	DeleteUncommitted
	// IgnoreLogStart: followers do not hear where their leader's log starts (KIP-107).
	IgnoreLogStart
	// RestartAtEnd: a follower that lacks what its leader has deleted begins anew at the
	// end of the leader's log and not at its start.
	RestartAtEnd
	// LeaveAlone: who has no room leaves the ISR although nobody else is in it.
	LeaveAlone
)

// String is the bug's name in tests.
func (b Bug) String() string {
	return [...]string{"none", "skip truncation", "truncate to high watermark", "trust high watermark", "ack before ISR",
		"join without catching up", "shrink before commit", "ignore min ISR", "ignore ISR epoch",
		"ignore unclean shutdown", "elect anybody", "ignore duplicates", "stop without sync",
		"ignore broker epoch", "everybody eligible", "remember followers", "unregistered stays", "move at once",
		"keep votes", "delete uncommitted", "ignore log start", "restart at end", "leave alone"}[b]
}

// Bugs are all of them.
func Bugs() []Bug {
	var all []Bug
	for b := SkipTruncation; b <= LeaveAlone; b++ {
		all = append(all, b)
	}
	return all
}
