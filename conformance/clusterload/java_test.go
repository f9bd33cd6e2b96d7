package clusterload_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

var java = flag.String("java", "", "the class path of conformance/clients/java and Kafka's jars; empty: no Java client takes part")

// javaLoad is a Java program that writes and reads as load does.
type javaLoad struct {
	w          *world
	topic      string
	partitions int
	stdin      io.Closer
	ended      chan struct{} // closed when the program has ended; then endErr is set

	mu                sync.Mutex
	sent, acked, read int64         // guarded by mu, as the program said last
	gap               time.Duration // guarded by mu
	wrong             []string      // guarded by mu
	endErr            error
}

// startJava starts the program on a topic of so many partitions.
func startJava(w *world, topic string, partitions int) *javaLoad {
	w.t.Helper()
	l := &javaLoad{w: w, topic: topic, partitions: partitions, ended: make(chan struct{})}
	cmd := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", *java, "Numbers",
		strings.Join(w.cluster.Brokers(), ","), topic, fmt.Sprint(partitions), fmt.Sprint(produceEvery.Milliseconds()))
	cmd.Stderr = w.keep("java.log")
	stdin, err := cmd.StdinPipe()
	w.must(err)
	stdout, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	l.stdin = stdin
	go func() {
		defer close(l.ended)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			l.hear(lines.Text())
		}
		l.endErr = cmd.Wait()
	}()
	w.t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has ended already if all is well
		<-l.ended
	})
	return l
}

// hear takes a line of the program.
func (l *javaLoad) hear(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, rest, _ := strings.Cut(line, " ")
	var gap int64
	switch kind {
	case "at":
		if n, err := fmt.Sscan(rest, &l.sent, &l.acked, &l.read, &gap); n != 4 {
			l.note("the program said %q: %v", line, err)
		}
		l.gap = max(l.gap, time.Duration(gap)*time.Millisecond)
	case "end":
		if n, err := fmt.Sscan(rest, &l.sent, &l.acked, &l.read); n != 3 {
			l.note("the program said %q: %v", line, err)
		}
	default:
		l.note("%s", rest)
	}
}

// note notes what is wrong. The caller holds mu.
func (l *javaLoad) note(format string, args ...any) {
	if len(l.wrong) < wrongMax {
		l.wrong = append(l.wrong, l.w.now()+" Java: "+fmt.Sprintf(format, args...))
	}
}

func (l *javaLoad) name() string { return "Java" }

func (l *javaLoad) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wrong) > 0
}

func (l *javaLoad) gaps() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := l.gap
	l.gap = 0
	return longest
}

func (l *javaLoad) acknowledged() {
	l.w.t.Helper()
	l.mu.Lock()
	want := l.sent + 1
	l.mu.Unlock()
	l.w.until("acknowledged to Java", func(context.Context) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.acked >= want || len(l.wrong) > 0 || l.hasEnded()
	})
}

// hasEnded says whether the program has ended.
func (l *javaLoad) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

func (l *javaLoad) end() int64 {
	l.w.t.Helper()
	if err := l.stdin.Close(); err != nil {
		l.w.t.Errorf("stop Java: %v", err)
	}
	l.w.until("ended with Java", func(context.Context) bool { return l.hasEnded() })
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endErr != nil || l.sent == 0 || l.acked != l.sent || l.read != l.sent {
		l.note("%d sent, %d acknowledged, %d read; its end: %v", l.sent, l.acked, l.read, l.endErr)
	}
	if len(l.wrong) > 0 {
		l.w.t.Errorf("wrong:\n%s", strings.Join(l.wrong, "\n"))
	} else {
		l.w.readAgain(l.topic, l.partitions, l.sent)
	}
	return l.sent
}
