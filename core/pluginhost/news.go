package pluginhost

import (
	"sync"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
)

// How much an authorizer may tell in its watches: what is remembered is forgotten by each
// piece of news, and rules are read and sorted anew. What is beyond waits in the plugin.
const (
	newsRate    = 200  // pieces a second in the long run
	newsBurst   = 1000 // pieces
	rulesOfNews = 500  // rules that count as one piece more
)

// newsPace holds all watches of one entry, over its generations, to newsRate. It is safe
// for concurrent use.
type newsPace struct {
	mu     sync.Mutex
	credit float64   // pieces; below zero: too many were told already; guarded by mu
	at     time.Time // when credit was counted; zero: never; guarded by mu
}

// told counts a piece of news, and says how long the next one has to wait.
func (p *newsPace) told(now time.Time, e *auth.Event) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() {
		p.at, p.credit = now, newsBurst
	}
	p.credit = min(p.credit+now.Sub(p.at).Seconds()*newsRate, newsBurst) - 1 - float64(len(e.Rules))/rulesOfNews
	p.at = now
	return max(0, time.Duration(-p.credit/newsRate*float64(time.Second)))
}
