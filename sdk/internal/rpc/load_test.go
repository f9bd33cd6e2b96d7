package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestManyCallsAtOnce has more callers than a process takes calls (PLUG-12): those
// beyond wait, and everyone is answered.
func TestManyCallsAtOnce(t *testing.T) {
	const callers = maxStreams + 500
	var running atomic.Int64
	full, finish := make(chan struct{}), make(chan struct{})
	i := &instance{assign: func(context.Context, *partitioner.Request, []int32) error {
		switch n := running.Add(1); {
		case n == maxStreams:
			close(full)
		case n > maxStreams:
			select {
			case <-finish:
			default:
				return fmt.Errorf("%d calls at once", n)
			}
		}
		<-finish
		return nil
	}}
	p := instances(i)
	c, _, _ := serve(t, p)
	contract := configure[partitioner.Partitioner](t, c, p, "1")
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if err := assignOne(t.Context(), contract); err != nil {
				t.Error(err)
			}
		})
	}
	<-full
	close(finish)
	all.Wait()
	if n := running.Load(); n != callers {
		t.Errorf("%d calls were answered, want %d", n, callers)
	}
}

// TestLargeQuestions hands a plugin 5, 16 and 64 MB past the asker's own checks
// (PLUG-08): beyond the limit the error says so on either side, and the connection
// serves on.
func TestLargeQuestions(t *testing.T) {
	v := &verifier{}
	p := verifiers(v, allFeatures...)
	c, _, _ := serve(t, p)
	configure[any](t, c, p, "1")
	services := pluginpb.NewAuthenticatorClient(c.conn)
	for _, side := range []struct {
		name    string
		options []grpc.CallOption
	}{
		{"asker", nil},
		{"plugin", []grpc.CallOption{grpc.MaxCallSendMsgSize(1 << 30)}},
	} {
		for _, megabytes := range []int{5, 16, 64} {
			_, err := services.VerifyPassword(t.Context(), &pluginpb.VerifyPasswordRequest{
				Meta: c.meta("1"), Password: make([]byte, megabytes<<20),
			}, side.options...)
			want := codes.OK
			if megabytes<<20 > MaxMessageBytes {
				want = codes.ResourceExhausted
			}
			if status.Code(err) != want {
				t.Errorf("%s refuses %d MB: %v, want %v", side.name, megabytes, err, want)
			}
			if err != nil && !errors.Is(ErrorOf(t.Context(), err), plugin.ErrTooLarge) {
				t.Errorf("%v is no ErrTooLarge", err)
			}
		}
		if _, err := c.Describe(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}
