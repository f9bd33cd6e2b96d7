package errorfs

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/vfs"
)

// ErrInjected is the error of a fault unless the injector chose another.
var ErrInjected = errors.New("injected fault")

// Injector returns the error that an operation shall fail with, or nil. It is
// called by many goroutines at once.
type Injector func(op vfs.Op) error

// New is fsys with faults.
func New(fsys vfs.FS, inject Injector) vfs.FS { return vfs.Intercept(fsys, interceptor(inject)) }

type interceptor Injector

func (i interceptor) Before(op vfs.Op) error   { return i(op) }
func (interceptor) After(vfs.Op, int64, error) {}

// Nth fails the operation numbered n (from 0) among those that match, once.
func Nth(n int64, match func(vfs.Op) bool) Injector {
	var seen atomic.Int64
	return func(op vfs.Op) error {
		if match(op) && seen.Add(1)-1 == n {
			return ErrInjected
		}
		return nil
	}
}

// Kinds matches operations of some kinds.
func Kinds(kinds ...vfs.OpKind) func(vfs.Op) bool {
	return func(op vfs.Op) bool {
		for _, k := range kinds {
			if op.Kind == k {
				return true
			}
		}
		return false
	}
}

// Any matches every operation but closing, which can't be left undone.
func Any(op vfs.Op) bool { return op.Kind != vfs.OpClose }

// Path matches operations on names that hold part, of some kinds.
func Path(part string, kinds ...vfs.OpKind) func(vfs.Op) bool {
	kind := Kinds(kinds...)
	return func(op vfs.Op) bool {
		return strings.Contains(op.Name, part) && (len(kinds) == 0 || kind(op))
	}
}

// Switch is an injector that can be turned on and off.
type Switch struct {
	mu    sync.Mutex
	match func(vfs.Op) bool // guarded by mu; nil: off
	err   error
}

// Inject is the injector to give to New.
func (s *Switch) Inject(op vfs.Op) error {
	s.mu.Lock()
	match, err := s.match, s.err
	s.mu.Unlock()
	if match != nil && match(op) {
		return err
	}
	return nil
}

// On fails everything that matches with err until Off.
func (s *Switch) On(match func(vfs.Op) bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.match, s.err = match, err
}

// Off lets everything through.
func (s *Switch) Off() { s.On(nil, nil) }
