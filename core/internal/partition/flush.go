package partition

import (
	"sync"
	"sync/atomic"
)

// Flush is what the disk still owes a follower for what it appended. Whoever appends
// for several partitions gives each one of its own and waits after the last append, so
// that the disk works for all of them at once. The zero value is ready, and can be used
// again after Wait. It must not be copied. It belongs to one goroutine but for Synced.
//
// Cost: 0 allocs.
type Flush struct {
	out     bool
	pending sync.WaitGroup
	failed  atomic.Pointer[error] // the first one
}

// Begin announces a call of Synced.
func (f *Flush) Begin() {
	f.out = true
	f.pending.Add(1)
}

// Out reports whether there is something to wait for.
func (f *Flush) Out() bool { return f.out }

// Synced implements logdir.Waiter.
func (f *Flush) Synced(err error) {
	if err != nil {
		f.failed.CompareAndSwap(nil, &err)
	}
	f.pending.Done()
}

// Wait waits for the disk. The error is a *kafka.Error KAFKA_STORAGE_ERROR: nobody knows
// what of the appends is on it.
func (f *Flush) Wait() error {
	f.pending.Wait()
	f.out = false
	if f.failed.Swap(nil) != nil {
		return errStorage
	}
	return nil
}
