package meta

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// at is an image with the index.
func at(index uint64) *Image { return Empty("c").Edit(index).Image() }

func TestWatchShowsThePresentImageFirst(t *testing.T) {
	p := NewPublisher(at(7))
	var seen []uint64
	stop := p.Watch(func(i *Image) { seen = append(seen, i.Index) })
	if !slices.Equal(seen, []uint64{7}) {
		t.Errorf("when Watch returned it had shown %v, want [7]", seen)
	}
	stop()
	stop() // twice is fine
}

func TestWatchSkipsButNeverLosesTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPublisher(at(1))
		var seen []uint64
		release := make(chan struct{})
		stop := p.Watch(func(i *Image) {
			seen = append(seen, i.Index)
			if i.Index == 2 {
				<-release
			}
		})
		p.Publish(at(2))
		synctest.Wait() // the watcher is busy with 2
		p.Publish(at(3))
		p.Publish(at(4))
		close(release)
		synctest.Wait()
		stop()
		if !slices.Equal(seen, []uint64{1, 2, 4}) {
			t.Errorf("shown %v, want [1 2 4]", seen)
		}
	})
}

func TestStopWaitsForARunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPublisher(at(1))
		finished := false
		stop := p.Watch(func(i *Image) {
			if i.Index == 2 {
				time.Sleep(time.Second)
				finished = true
			}
		})
		p.Publish(at(2))
		synctest.Wait()
		stop()
		if !finished {
			t.Error("stop returned while the watcher was running")
		}
	})
}

func TestPublishDuringWatchIsSeen(t *testing.T) {
	for range 200 {
		p := NewPublisher(at(1))
		var wait sync.WaitGroup
		wait.Go(func() { p.Publish(at(2)) })
		last := make(chan uint64, 3)
		stop := p.Watch(func(i *Image) { last <- i.Index })
		wait.Wait()
		for i := range last {
			if i == 2 {
				break
			}
		}
		stop()
	}
}
