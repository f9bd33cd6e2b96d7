package consensus

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// lines keep what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// with are the lines with a text.
func (l *lines) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// TestWhoChangedWhat: the node that was asked and the leader name the principal of a
// change; what the cluster does by itself, and what nobody changes, is not logged.
func TestWhoChangedWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := new(lines)
		c := newCluster(t, 20)
		c.log = slog.New(slog.NewTextHandler(logged, nil))
		c.grow()
		leader := c.leader()
		other := 1 + leader%3
		alice := meta.For(t.Context(), "User:al\xffice"+strings.Repeat("e", principalMax))
		for _, id := range []kafka.BrokerID{other, leader} {
			r, err := c.nodes[id].group.DeleteTopics(alice, []kafka.TopicID{{1}})
			if err != nil || r[0] == nil {
				t.Fatal(r, err)
			}
			if _, err := c.nodes[id].group.AllocateProducerIDs(alice); err != nil {
				t.Fatal(err)
			}
			c.decide(id)
		}
		asked, decided := logged.with("a change was asked for"), logged.with("a change was decided for another node")
		if len(asked) != 2 || len(decided) != 1 || len(logged.with("principal=")) != 3 {
			t.Fatalf("%q and %q, want three lines", asked, decided)
		}
		for _, want := range []string{`change="delete topics"`, "principal=User:al?ice", "refused=1", "about="} {
			if !strings.Contains(decided[0], want) {
				t.Errorf("no %s in %s", want, decided[0])
			}
		}
		if err := c.nodes[other].group.RemoveVoter(alice, other); err != nil || len(logged.with("the voters were changed")) != 1 {
			t.Error(err, logged.with("voters"))
		}
	})
}
