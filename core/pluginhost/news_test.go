package pluginhost

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestFloodOfNews has an authorizer tell of its policy without an end: it is heard no
// faster than the broker can bear, and who comes after it is heard at once.
func TestFloodOfNews(t *testing.T) {
	const seconds = 10
	for rules, most := range map[int]int{0: newsBurst + seconds*newsRate + 1, 100 * rulesOfNews: (newsBurst+seconds*newsRate)/101 + 1} {
		t.Run(fmt.Sprintf("%d rules", rules), func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				pushed := make([]auth.Rule, rules)
				w.binary("/flood", plugin.Authorizer, "1.0.0", func(p *fakeProcess) {
					p.watch = func(_ context.Context, send func(auth.Event) error) error {
						for epoch := uint64(1); ; epoch++ {
							if err := send(auth.Event{Epoch: epoch, Rules: pushed}); err != nil {
								return err
							}
						}
					}
				})
				w.must(spec(plugin.Authorizer, "/flood"))
				o := w.watch()
				time.Sleep(seconds * time.Second)
				heard := len(o.epochs())
				if heard > most || heard < most/2 {
					t.Errorf("%d pieces of news in %d s, want no more than %d", heard, seconds, most)
				}
				tell := make(chan auth.Event, 1)
				w.binary("/v2", plugin.Authorizer, "2.0.0", telling(tell))
				w.must(spec(plugin.Authorizer, "/v2"))
				tell <- auth.Event{Epoch: 1, Rules: []auth.Rule{{Name: "two"}}}
				epochs := o.epochs()
				if last := o.events[len(epochs)-1]; len(last.Rules) != 1 || last.Epoch <= epochs[heard-1] {
					t.Errorf("the last news are %+v, want those of the next version, with a greater epoch than %d", last, epochs[heard-1])
				}
				_ = o.stop()
			})
		})
	}
}
