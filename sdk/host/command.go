package host

import (
	"time"
)

// The default of Command.StartTimeout.
const DefaultStartTimeout = 10 * time.Second

// Command says how a plugin's process is started.
type Command struct {
	// Path of the program, absolute. Nothing is searched for.
	Path string
	Args []string // without the program's name
	// Env is added to the few variables that a plugin gets (KeptEnv): "NAME=value".
	Env []string
	// Digest is the SHA-256 of the file at Path; zero: not checked. What was hashed
	// is what runs, even if the path names another file a moment later. Of a script
	// the script itself is hashed, not what interprets it.
	Digest [32]byte
	// RunDir is where the process gets its private directory: its socket, its working
	// directory and TMPDIR. It must be short, because the path of a socket may have
	// 107 bytes (104 outside Linux). Empty: the system's directory for temporary files.
	RunDir string
	// StartTimeout bounds everything until the plugin answers Describe; 0:
	// DefaultStartTimeout.
	StartTimeout time.Duration

	// MemoryMax bounds the memory (bytes) that the process may write to; 0: no limit.
	MemoryMax uint64
	// NoFile bounds its open files (Linux); 0: as the broker's.
	NoFile uint64
	// RunAs is the user it runs as; nil: the broker's. Only a privileged broker may
	// choose. That user must be able to pass through RunDir and, without a digest, to
	// reach Path. MemoryMax then needs CAP_SYS_RESOURCE, and NoFile counts only with it.
	RunAs *User

	// Stderr gets each line of the process's standard error and, after the handshake,
	// of its standard output, without the line's end, cut after MaxLineBytes, and only
	// valid until it returns. One call at a time; while it runs, the plugin's writes
	// wait. nil: lines are dropped.
	Stderr func(line []byte)
}

// User is whom a process runs as, by number.
type User struct {
	UID, GID uint32
}
