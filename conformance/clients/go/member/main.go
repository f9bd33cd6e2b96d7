// Command member is a member of a consumer group through a Go client, for command trouble.
//
//	member kgo|sarama|kafka-go ADDRESS TOPIC GROUP classic|consumer
//
// It prints one JSON object a line: each record before its offset is committed, and what it owns whenever that
// changes. It commits every commitEvery records or so and before it gives a partition up, and leaves at SIGTERM.
// ../../python/member.py and ../../node/member.js are the same through other clients.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// commitEvery is how many records are read between commits.
const commitEvery = 25

// The timeouts of a member with the classic protocol; those of the consumer protocol are the broker's.
const (
	sessionTimeout    = 6 * time.Second
	heartbeatInterval = time.Second
)

// retryDelay is how long a member waits after an error before it tries again.
const retryDelay = 200 * time.Millisecond

// event is a line that a member prints.
type event struct {
	Event string `json:"event"` // owned, record or error
	// Generation of what is owned; 0 if the client doesn't show it.
	Generation int32   `json:"generation,omitempty"`
	Owned      []int32 `json:"owned,omitempty"`
	Partition  int32   `json:"partition"`
	Offset     int64   `json:"offset"`
	Key        string  `json:"key,omitempty"`
	Error      string  `json:"error,omitempty"`
}

// printer prints events; safe for concurrent use.
type printer struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (p *printer) owned(generation int32, partitions []int32) {
	partitions = slices.Sorted(slices.Values(partitions))
	p.print(event{Event: "owned", Generation: generation, Owned: partitions})
}

func (p *printer) record(partition int32, offset int64, key []byte) {
	p.print(event{Event: "record", Partition: partition, Offset: offset, Key: string(key)})
}

func (p *printer) failed(err error) {
	p.print(event{Event: "error", Error: err.Error()})
}

func (p *printer) print(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Nobody reads any more when the driver is gone: then this process has no purpose.
	if err := p.out.Encode(e); err != nil {
		os.Exit(1)
	}
}

// membership is what a member is told.
type membership struct {
	addr, topic, group string
	consumer           bool // the consumer protocol of KIP-848
	out                *printer
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "member: want CLIENT ADDRESS TOPIC GROUP PROTOCOL")
		os.Exit(2)
	}
	m := membership{addr: os.Args[2], topic: os.Args[3], group: os.Args[4], consumer: os.Args[5] == "consumer",
		out: &printer{out: json.NewEncoder(os.Stdout)}}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	if err := m.run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "member:", err)
		os.Exit(1)
	}
}

func (m membership) run(ctx context.Context, client string) error {
	switch {
	case client == "kgo":
		return m.runKgo(ctx)
	case client == "sarama" && !m.consumer:
		return m.runSarama(ctx)
	case client == "kafka-go" && !m.consumer:
		return m.runKafkaGo(ctx)
	}
	return fmt.Errorf("%s has no such protocol", client)
}

// sleep waits a while after an error, or until the member is to leave.
func sleep(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryDelay):
	}
}
