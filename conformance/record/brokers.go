package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mortisemq/mortise/conformance/transcript"
)

// dialTimeout bounds the opening of a connection.
const dialTimeout = 10 * time.Second

// brokers are the real Kafka at an address: one broker, or with a folder the three that
// oracle/kafka.sh runs there.
func brokers(addr, three, oracle string) (transcript.Cluster, error) {
	if three == "" {
		return transcript.Cluster{Brokers: 1, Dial: func(int) (net.Conn, error) { return net.DialTimeout("tcp", addr, dialTimeout) }}, nil
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return transcript.Cluster{}, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return transcript.Cluster{}, fmt.Errorf("port of %s: %w", addr, err)
	}
	script := func(args ...string) error {
		c := exec.Command(oracle, args...)
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		return c.Run()
	}
	return transcript.Cluster{Brokers: 3,
		Dial: func(broker int) (net.Conn, error) {
			return net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(port+2*(broker-1))), dialTimeout)
		},
		Stop:  func(broker int) error { return script("stop", filepath.Join(three, strconv.Itoa(broker))) },
		Start: func(broker int) error { return script("member", three, text, strconv.Itoa(broker)) },
	}, nil
}
