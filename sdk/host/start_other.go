//go:build !unix

package host

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// isolate refuses: there are no process groups here, and go-plugin would listen on a
// port that every user of the machine can reach.
func isolate(*exec.Cmd, Command) error {
	return errors.New("plugins in processes of their own need Unix; compile them in")
}

func begin()                               {}
func limit(int, Command) error             { return nil }
func runnable(*os.File) (string, bool)     { return "", false }
func killGroup(int)                        {}
func giveAway(string, string, *User) error { return nil }
func (r *process) reap() error             { return r.cmd.Wait() }

// readNow has nothing to read without processes.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }

// residentBytes is not known here.
func residentBytes(int) (uint64, error) { return 0, errors.ErrUnsupported }

// guard is not needed without processes.
type guard struct{}

func startGuard(int) *guard { return nil }
func (g *guard) release()   {}
