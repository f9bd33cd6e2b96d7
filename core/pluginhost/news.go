package pluginhost

import "github.com/mortisemq/mortise/sdk/auth"

// How much an authorizer may tell in its watches, over its generations: what is remembered
// is forgotten by each piece of news, and rules are read and sorted anew. What is beyond
// waits in the plugin.
const (
	newsRate    = 200  // pieces a second in the long run
	newsBurst   = 1000 // pieces
	rulesOfNews = 500  // rules that count as one piece more
)

// newsCost is as how many pieces one counts.
func newsCost(e *auth.Event) int { return min(1+len(e.Rules)/rulesOfNews, newsBurst) }
