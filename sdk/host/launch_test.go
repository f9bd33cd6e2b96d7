package host

import (
	"testing"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func TestLaunch(t *testing.T) {
	p, err := Launch(t.Context(), behaviour(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(t.Context())
	in, err := p.Configure(t.Context(), plugin.Partitioner, "lengths", plugin.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := in.Partitioner()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]int32, 3)
	if err := c.Assign(t.Context(), &partitioner.Request{Topic: "t", Partitions: 4, Keys: [][]byte{nil, []byte("abc"), {}}}, out); err != nil {
		t.Fatal(err)
	}
	t.Log(out)
	rss, err := p.RSS()
	t.Log(rss, err, p.PID())
	if err := in.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	t.Log(p.ExitError())
}
