package vfs

// OpKind is what an operation does.
type OpKind uint8

// The operations of FS and File.
const (
	OpOpen OpKind = iota
	OpClose
	OpRead
	OpWrite
	OpTruncate
	OpSync
	OpSyncData
	OpAllocate
	OpRemove
	OpRename
	OpMkdir
	OpReadDir
	OpStat
	OpSyncDir
	OpLock
	OpUsage
	opKinds // how many there are
)

// String is the operation's name in messages.
func (k OpKind) String() string {
	return [...]string{"open", "close", "read", "write", "truncate", "sync", "syncdata", "allocate",
		"remove", "rename", "mkdir", "readdir", "stat", "syncdir", "lock", "usage"}[k]
}

// Changes reports whether the operation changes the disk or what is durable.
func (k OpKind) Changes() bool {
	switch k {
	case OpWrite, OpTruncate, OpSync, OpSyncData, OpRemove, OpRename, OpMkdir, OpSyncDir, OpAllocate:
		return true
	}
	return false
}
