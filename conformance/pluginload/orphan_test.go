package pluginload_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"
)

// orphanMax is how long a plugin may outlive its broker, lookEvery how often is looked.
const (
	orphanMax = 2 * time.Second
	lookEvery = 10 * time.Millisecond
)

// TestKilledBrokerLeavesNoOrphan kills a broker with SIGKILL while it has a plugin of
// each kind in service: the plugins end too, and what one of them has forked.
func TestKilledBrokerLeavesNoOrphan(t *testing.T) {
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w := &world{t: t, dir: dir}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), beBroker+"="+dir, builtKey+"="+built)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill() //nolint:errcheck // it is dead already unless the test failed
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if n := len(w.ours()); n < len(kinds) {
		t.Errorf("%d processes, want one of each of %d plugins", n, len(kinds))
	}
	w.fail("push", "linger") // it looks by itself, nobody has to ask it
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	limit := time.After(patience)
	for !w.forked() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatal("nothing was forked")
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	// What ticks while nobody takes it is lost, so a busy machine has longer.
	for looks := time.Duration(0); len(w.ours()) > 0; looks++ {
		if looks > orphanMax/lookEvery {
			t.Fatalf("after %d looks, one in %v, there are still %v", looks, lookEvery, w.ours())
		}
		<-look.C
	}
}
