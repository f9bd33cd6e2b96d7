// Package host starts plugins and asks them. A Target is plugins that can be asked:
// Launch makes one of a program, InProcess one of values with the whole conversation
// between (for tests and the conformance kit), Direct one of values alone. An Instance
// of any of them implements its kind's contract.
//
// It owns processes: how they are started, what they may have, how they end, and that
// nothing of them is left. It must not know what a broker does with plugins: no
// catalogue, no restarts, no generations, no policy about failures.
//
// Processes are started through go-plugin, with a runner of ours and without the parts
// of it that a plugin could turn against its broker:
//
//   - Lines on standard error never reach its parser, which panics over JSON that it
//     does not expect. They are cut, cleaned, and given to Command.Stderr.
//   - Its output is read at 4 MiB a second at most. A plugin that writes more waits.
//   - On Linux it stands behind the broker when processors are short (niceness).
//   - It sees one line of standard output, the handshake, after package handshake has
//     checked it. The rest is read too, or the plugin would block.
//   - Its Kill and Ping have no deadline. Health has; Stop asks the process to end by
//     itself for at most two seconds, kills the group, and only then lets go-plugin
//     clean up.
//   - Its callback streams, which a plugin could flood, are never opened.
//   - A panic in its Start is an error.
//
// What a process gets: a private directory (mode 0700) as working directory, TMPDIR,
// HOME and place of its socket; the variables of KeptEnv and those of its Command; no
// standard input; a process group; no_new_privs; no core dumps; limits of memory and
// open files; another user if asked. With a digest, the bytes that were hashed are what
// runs: the open file itself, or of a script a private copy, so such a script must be
// one file. Nothing bounds what it writes to its directory but the file system of
// RunDir. Connections are TLS 1.3 with a certificate on each side that was made for this
// one start.
//
// When a process ends, however it does, its process group is killed before its number
// is free again. When the broker is killed, the kernel kills the process (Linux), a
// program of package sdk notices by itself (elsewhere), and a guard kills what it
// forked. What a plugin moves into a session of its own escapes: only a cgroup or a
// PID namespace around the broker holds that.
//
// Invariants:
//
//   - Done is closed exactly once, after output was read and the group was killed. Stop
//     must be called even then: it removes the directory and go-plugin's goroutines.
//   - Each process costs the broker one thread for as long as it lives, because the
//     kernel ties it to the thread that forked it; a small process, the guard; and about
//     15 goroutines.
//   - Command.Stderr must return soon: while it runs, the plugin's writes wait.
//
// Lock order: remote.mu, process.mu, process.stderrLock: none is held while another is
// taken, nor while anything is waited for; Command.Stderr runs under stderrLock.
package host
