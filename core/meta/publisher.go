package meta

import (
	"sync"
	"sync/atomic"
)

// Publisher holds the newest image and tells watchers about it. It is the part
// of a Control that every implementation needs. It is safe for concurrent use;
// Image costs one atomic load.
//
// Lock order: a watcher's call lock before Publisher.mu. Neither is held by
// Publish while it waits for anything.
type Publisher struct {
	image atomic.Pointer[Image]

	mu       sync.Mutex
	watchers map[*watcher]struct{} // guarded by mu
}

// NewPublisher starts with an image that nobody has been told about.
func NewPublisher(first *Image) *Publisher {
	p := &Publisher{watchers: map[*watcher]struct{}{}}
	p.image.Store(first)
	return p
}

// Image is the newest image. It never blocks.
func (p *Publisher) Image() *Image { return p.image.Load() }

// Publish makes next the newest image and wakes the watchers; it does not wait
// for them. Calls must be in the order of the images' indexes.
func (p *Publisher) Publish(next *Image) {
	if old := p.image.Load(); next.Index < old.Index {
		panic("BUG: a published image is older than the one before")
	}
	p.image.Store(next)
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.watchers {
		w.wake()
	}
}

// Watch calls f with the present image before it returns, and with newer ones
// from a goroutine of its own until stop. f must not call Watch or stop.
func (p *Publisher) Watch(f func(*Image)) (stop func()) {
	w := &watcher{woken: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	p.mu.Lock()
	p.watchers[w] = struct{}{}
	p.mu.Unlock()

	seen := p.Image()
	f(seen)
	go w.run(p, f, seen)
	return sync.OnceFunc(func() {
		p.mu.Lock()
		delete(p.watchers, w)
		p.mu.Unlock()
		close(w.quit)
		<-w.done
	})
}

// watcher is one Watch.
type watcher struct {
	woken chan struct{} // holds one token while an image waits to be seen
	quit  chan struct{}
	done  chan struct{} // closed when the last call has returned
}

// wake notes that there is something to see. It never blocks: one token stands
// for any number of images, because only the newest counts.
func (w *watcher) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// run shows each newest image to f.
func (w *watcher) run(p *Publisher, f func(*Image), seen *Image) {
	defer close(w.done)
	for {
		select {
		case <-w.quit:
			return
		case <-w.woken:
		}
		if next := p.Image(); next != seen {
			seen = next
			f(next)
		}
	}
}
