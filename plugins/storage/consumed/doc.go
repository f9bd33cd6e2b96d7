// Package consumed is retention by what consumers have read: a segment goes when every
// named group has committed beyond it.
//
//	{
//	  "groups": ["billing", "audit"],
//	  "keep":  {"ms": 3600000, "bytes": 0},
//	  "limit": {"ms": 604800000, "bytes": 107374182400}
//	}
//
// keep is a floor: nothing younger than ms goes, and at least bytes of each partition
// stay, whatever else is said. It is an hour and no bytes unless set, so that a group
// can go back a little, and so that a log that is read at once is not rolled at every
// look.
//
// limit is a ceiling: what is older than ms or beyond bytes goes although a group has
// not read it. A group that stands still, or that has gone, must not fill a disk. What
// is not set is the topic's retention.ms and retention.bytes; -1 is no limit, and one
// of the two must be one. The floor wins over the ceiling.
//
// A group that has committed nothing for a partition has read nothing of it. The
// active segment goes by the ceiling only: to delete it as soon as it is read would
// roll a new one at every look.
//
// It owns that rule and nothing else: no clock, no disk, no offsets. It imports
// sdk/storage, and its neighbour timesize for the ceiling.
package consumed
