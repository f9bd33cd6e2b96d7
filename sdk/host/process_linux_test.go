package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mortisemq/mortise/sdk/host/hosttest"
	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// lifeline is a socket that processes of a test hold a line to: that a line ends is how
// the test knows that its process did.
func lifeline(t testing.TB) (address string, accept func() (pid int, end net.Conn)) {
	t.Helper()
	address = filepath.Join(t.TempDir(), "l")
	if len(address) > maxSocketPath() {
		t.Fatalf("%s is too long for a socket", address)
	}
	l, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return address, func() (int, net.Conn) {
		t.Helper()
		if err := l.(*net.UnixListener).SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		line, err := bufio.NewReader(c).ReadString('\n') // which is all that comes
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		return pid, c
	}
}

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// endMax is how long a process that must end may live on.
const endMax = 2 * time.Second

// mustEnd waits for the end of a process that holds a line, for which everything was
// done.
func mustEnd(t testing.TB, what string, line net.Conn) {
	t.Helper()
	if err := line.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	stop := hosttest.Stopwatch()
	_, err := line.Read(make([]byte, 1))
	if took := stop(); took > endMax || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s lives on for %v: %v", what, took, err)
	}
}

// ask asks a question about the process itself.
func askProcess(t testing.TB, p *Process, question string) string {
	t.Helper()
	err := p.Validate(t.Context(), plugin.Partitioner, "odd", []byte(`"`+question+`"`))
	if !errors.Is(err, plugin.ErrConfig) {
		t.Fatalf("%s: %v", question, err)
	}
	return strings.TrimPrefix(err.Error(), plugin.ErrConfig.Error()+": ")
}

// TestNoise has a plugin print what go-plugin's host panics over: lines of JSON that
// are no log lines, a megabyte without an end, terminal codes.
func TestNoise(t *testing.T) {
	c := behaviour(t, "noise")
	log := newLineLog()
	c.Stderr = log.take
	p := launch(t, c)
	_, odd := partitionerOf(t, p, "odd")
	if err := order(t.Context(), odd, "print"); err != nil {
		t.Fatal(err)
	}
	if err := order(t.Context(), odd, "print raw"); err != nil {
		t.Fatal(err)
	}
	if err := order(t.Context(), odd, "nothing"); err != nil {
		t.Errorf("after the noise: %v", err)
	}
	stopNow(t, p)
	text := log.String()
	for _, want := range []string{`{"@level":5}`, "?[2Jcleared", "bad ?? utf-8", "through slog", "line 9999", "raw end"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the log", want)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > MaxLineBytes+1 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// TestNative runs a program that go-plugin itself serves: P-521 keys, standard output
// through a stream that somebody must read.
func TestNative(t *testing.T) {
	c := behaviour(t, "native")
	log := newLineLog()
	c.Stderr = log.take
	p := launch(t, c)
	_, odd := partitionerOf(t, p, "odd")
	if err := order(t.Context(), odd, "print"); err != nil {
		t.Fatal(err)
	}
	log.await(t, "line 9999")
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCalls has calls end in every bad way; what ends the process ends nothing else.
func TestCalls(t *testing.T) {
	log := newLineLog()
	c := behaviour(t, "good")
	c.Stderr = log.take
	p := launch(t, c)
	_, odd := partitionerOf(t, p, "odd")
	if err := order(t.Context(), odd, "panic"); !errors.Is(err, plugin.ErrPanicked) || !strings.Contains(err.Error(), "told to") {
		t.Errorf("panic: %v, want ErrPanicked", err)
	}
	log.await(t, "panic in /mortise.plugin.v1.Partitioner/Assign: told to")
	if err := order(t.Context(), odd, "out of range"); !errors.Is(err, plugin.ErrBadAnswer) {
		t.Errorf("out of range: %v, want ErrBadAnswer", err)
	}
	for _, how := range []string{"hang", "wait"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- order(ctx, odd, how) }()
		log.await(t, how[:4])
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want canceled", how, err)
		}
	}
	if err := order(t.Context(), odd, "exit"); !errors.Is(err, plugin.ErrGone) {
		t.Errorf("exit: %v, want ErrGone", err)
	}
	<-p.Done()
	if err := p.ExitError(); err == nil || err.Error() != "exit status 5" {
		t.Errorf("exit error %v, want exit status 5", err)
	}
	if err := p.Health(t.Context()); !errors.Is(err, plugin.ErrGone) {
		t.Errorf("health of the dead: %v, want ErrGone", err)
	}
	if _, err := p.RSS(); err == nil {
		t.Error("the dead have memory")
	}
}

// TestStopped stops a process that a SIGSTOP holds: go-plugin's Kill and Ping would
// wait for ever.
func TestStopped(t *testing.T) {
	p := launch(t, behaviour(t, "good"))
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Health(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("health: %v, want deadline", err)
	}
	stop := hosttest.Stopwatch()
	if err := p.Stop(ctx); err != nil {
		t.Error(err)
	}
	if took := stop(); took > time.Second {
		t.Errorf("stop took %v", took)
	}
}

// TestChildren kills what a plugin forked, also when it left the process group's
// terminal session or holds the plugin's pipes.
func TestChildren(t *testing.T) {
	for _, how := range []string{"stay", "away"} {
		t.Run(how, func(t *testing.T) {
			address, accept := lifeline(t)
			p := launch(t, behaviour(t, "good"))
			if got := askProcess(t, p, "fork "+how+" "+address); got != "<nil>" {
				t.Fatal(got)
			}
			pid, line := accept()
			p.Kill()
			<-p.Done() // though the child holds standard error
			if how == "away" {
				// Only a cgroup could hold it; that it does not hold us is what counts.
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
			mustEnd(t, "child", line)
		})
	}
}

// TestHostKilled kills the host without warning: the plugin ends too, and what it
// forked.
func TestHostKilled(t *testing.T) {
	address, accept := lifeline(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(path, "behave", "host", address)
	dir := t.TempDir()
	host.Env = append(os.Environ(), "RUN_DIR="+dir)
	host.Stderr = os.Stderr
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	_, plugin := accept()
	_, child := accept()
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	mustEnd(t, "plugin", plugin)
	mustEnd(t, "child of the plugin", child)
}

// TestConfined looks at what a process got: a directory, a few variables, limits.
func TestConfined(t *testing.T) {
	t.Setenv("MORTISE_TEST_SECRET", "swordfish")
	c := behaviour(t, "good")
	c.Env = []string{"GIVEN=by the operator", "TMPDIR=/elsewhere", "PLUGIN_UNIX_SOCKET_DIR=/elsewhere"}
	c.NoFile = 100
	p := launch(t, c)
	env := askProcess(t, p, "env")
	if strings.Contains(env, "swordfish") || !strings.Contains(env, "GIVEN=by the operator") || strings.Contains(env, "/elsewhere") {
		t.Errorf("environment: %s", env)
	}
	if dir := askProcess(t, p, "dir"); !strings.HasPrefix(dir, c.RunDir) {
		t.Errorf("directory %s is not in %s", dir, c.RunDir)
	}
	if limits := askProcess(t, p, "limits"); !strings.HasSuffix(limits, " 100 0") {
		t.Errorf("limits %s, want 100 files and no core", limits)
	}
	if got := askProcess(t, p, "status NoNewPrivs"); !strings.HasSuffix(got, "1") {
		t.Errorf("%q, want 1", got)
	}
	// A limit that is lower already is not raised, which few may do.
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	c.NoFile = own.Max + 1
	if limits, want := askProcess(t, launch(t, c), "limits"), fmt.Sprintf(" %d 0", own.Max); !strings.HasSuffix(limits, want) {
		t.Errorf("limits %s, want those of the host: %s", limits, want)
	}
}

// TestMemoryLimit ends a process that takes more than it may; a call that runs then is
// answered at once.
func TestMemoryLimit(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector wants more memory than any limit")
	}
	c := behaviour(t, "good")
	c.MemoryMax = 256 << 20
	p := launch(t, c)
	if env := askProcess(t, p, "env"); !strings.Contains(env, handshake.MemoryKey+"=268435456") {
		t.Errorf("the process is not told: %s", env)
	}
	if limits := askProcess(t, p, "limits"); !strings.HasPrefix(limits, "268435456 ") {
		t.Errorf("limits %s", limits)
	}
	_, odd := partitionerOf(t, p, "odd")
	if err := order(t.Context(), odd, "allocate"); !errors.Is(err, plugin.ErrGone) {
		t.Errorf("allocate: %v, want ErrGone", err)
	}
	<-p.Done()
}

// TestProcessesStandBehind: a process that computes does not take the processors from its
// broker.
func TestProcessesStandBehind(t *testing.T) {
	before := asStarted.niceness // 19, the most there is, is not exceeded
	if its := nice(t, launch(t, behaviour(t, "good")).PID()); its != min(before+niceness, 19) {
		t.Errorf("niceness %d, want %d more than %d", its, niceness, before)
	}
}

// confined is what a thread has of what processes are confined by.
type confined struct {
	niceness   int
	privileges string // the line NoNewPrivs of /proc/PID/status
}

// asStarted is that of this process, before it launched anything. Who starts tests with
// nice, or in a container that gives nobody new privileges, confines all of its threads.
var asStarted, errAsStarted = thread()

// thread is that of the calling thread.
func thread() (confined, error) {
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return confined{}, err
	}
	c := confined{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "NoNewPrivs:") {
			c.privileges = line
		}
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	c.niceness = 20 - raw
	return c, err
}

// nice is the niceness of a process's first thread; 0: of the calling thread.
func nice(t *testing.T, pid int) int {
	t.Helper()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		t.Error(err)
	}
	return 20 - raw
}

// TestThreadsAreClean checks that confining a process confines no other thread of the
// host, and none that is made later. Where all have no privileges to gain, or can't be
// less nice, only the other of the two tells.
func TestThreadsAreClean(t *testing.T) {
	if errAsStarted != nil {
		t.Fatal(errAsStarted)
	}
	for range 4 {
		launch(t, behaviour(t, "good"))
	}
	const threads = 20
	var all, held sync.WaitGroup
	held.Add(threads)
	for range threads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held.Done()
			held.Wait() // so that they are on as many threads
			if own, err := thread(); err != nil || own != asStarted {
				t.Errorf("a thread of the host is confined: %+v, want %+v, or %v", own, asStarted, err)
			}
		})
	}
	all.Wait()
}

func TestRunAs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may choose")
	}
	c := behaviour(t, "good")
	c.Digest = digest(t, c.Path) // runs the open file: the folder may be closed to others
	c.RunAs = &User{UID: 65534, GID: 65534}
	if err := os.Chmod(c.RunDir, 0o755); err != nil {
		t.Fatal(err)
	}
	probe := exec.Command("/bin/true")
	probe.Dir = c.RunDir
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.RunAs.UID, Gid: c.RunAs.GID}}
	if err := probe.Run(); err != nil {
		t.Skipf("the root of this container may start nobody as another user, or that one can't come to %s: %v", c.RunDir, err)
	}
	p := launch(t, c)
	if uid := askProcess(t, p, "uid"); uid != "65534" {
		t.Errorf("uid %s, want 65534", uid)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeft starts and stops, and kills, and counts: no process, no descriptor
// and (by goleak, at the end of all tests) no goroutine stays.
func TestNothingIsLeft(t *testing.T) {
	c := behaviour(t, "good")
	start := func() {
		p, err := Launch(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		_, odd := partitionerOf(t, p, "odd")
		if p.PID()%2 == 0 {
			if err := order(t.Context(), odd, "exit"); !errors.Is(err, plugin.ErrGone) {
				t.Errorf("exit: %v", err)
			}
		}
		stopNow(t, p)
	}
	start() // what is opened once is open now
	files, children := count(t, "/proc/self/fd/*"), childrenOf(t)
	const starts = 20
	for range starts {
		start()
	}
	// gRPC closes its last connection a moment later; a leak would be one for each start.
	if n := count(t, "/proc/self/fd/*"); n >= files+starts/2 {
		t.Errorf("%d descriptors after %d starts, %d before", n, starts, files)
	}
	if n := childrenOf(t); n != children {
		t.Errorf("%d children, %d before", n, children)
	}
}

func count(t *testing.T, pattern string) int {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// childrenOf counts this process's children.
func childrenOf(t *testing.T) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err == nil { // a thread may have ended
			n += len(strings.Fields(string(text)))
		}
	}
	return n
}

// TestWrongKind asks an instance for a contract of another kind, and a process for a
// plugin that it lacks.
func TestWrongKind(t *testing.T) {
	p := launch(t, behaviour(t, "good"))
	in, _ := partitionerOf(t, p, "lengths")
	if _, err := in.Authorizer(); !errors.Is(err, errKind) {
		t.Errorf("authorizer of a partitioner: %v", err)
	}
	if _, err := p.Configure(t.Context(), plugin.Authorizer, "lengths", plugin.Config{}); !errors.Is(err, plugin.ErrUnsupported) {
		t.Errorf("a plugin that is not there: %v, want ErrUnsupported", err)
	}
}
