package server

import (
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// cpu is the processor time of this process: client and server.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRequests sends requests of some sizes, so many in flight, and takes
// answers of 8 bytes. CPU is that of both sides.
func BenchmarkRequests(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 16 << 10, 64 << 10, 768 << 10} {
		for _, flight := range []int{1, 5, 100} {
			if flight == 100 && size > 4<<10 {
				continue
			}
			b.Run(fmt.Sprintf("bytes=%d/inflight=%d", size, flight), func(b *testing.B) {
				benchRequests(b, size, flight)
			})
		}
	}
}

func benchRequests(b *testing.B, size, flight int) {
	_, c := onLoopback(b, Options{Handler: wire.HandlerFunc(echoHead)}, nil)
	request := frame(1, make([]byte, size))
	var batch []byte
	perWrite := max(1, min(flight, 10))
	if size > 4<<10 {
		perWrite = 1
	}
	for range perWrite {
		batch = append(batch, request...)
	}
	free := make(chan struct{}, flight)
	for range flight {
		free <- struct{}{}
	}
	b.SetBytes(int64(len(request)))
	b.ReportAllocs()
	b.ResetTimer()
	start := cpu()
	go func() {
		for sent := 0; sent < b.N; sent += perWrite {
			for range perWrite {
				<-free
			}
			if _, err := c.Write(batch); err != nil {
				return
			}
		}
	}()
	replies := make([]byte, 8*flight)
	for got, have := 0, 0; got < b.N; {
		n, err := io.ReadAtLeast(c, replies[have:], 8-have)
		if err != nil {
			b.Fatal(err)
		}
		have += n
		for ; have >= 8; have -= 8 {
			got++
			free <- struct{}{}
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(cpu()-start)/float64(b.N)/1e3, "cpu-µs/op")
}
