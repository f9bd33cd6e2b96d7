//go:build unix

package broker

import "golang.org/x/sys/unix"

// openFileLimit is how many handles the process may have; 0: not known. The Go
// runtime has raised it to the hard limit already.
func openFileLimit() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return int(min(uint64(r.Cur), 1<<30)) //nolint:unconvert // Cur is signed on some systems
}
