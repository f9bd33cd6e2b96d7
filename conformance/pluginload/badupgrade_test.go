package pluginload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestBadUpgradesGoBack tries upgrades that can't be: what serves goes on serving all
// requests, and the status says why.
func TestBadUpgradesGoBack(t *testing.T) {
	for name, says := range map[string]string{"digest": "SHA-256", "version": "version", "canary": "canary", "garbage": "", "exit": "", "missing": "no such file"} {
		t.Run(name, func(t *testing.T) {
			w := start(t, options{bake: time.Minute})
			w.topics()
			w.serving()
			was := w.status()
			l := w.begin(0)
			var specs []pluginhost.Spec
			for entry := range kinds {
				s := w.spec(entry, 1)
				switch name {
				case "digest":
					s.SHA256 = w.spec(entry, 0).SHA256
				case "version":
					s.Version = "3.0.0"
				case "missing":
					s.Path += "-none"
				default: // a file of its own, so that what serves is well
					s.Args = []string{w.dir + "/bad-upgrade"}
				}
				specs = append(specs, s)
			}
			fault := map[string]string{"canary": "lie", "garbage": "garbage", "exit": "exit"}[name]
			w.write(w.dir+"/bad-upgrade", fault)
			w.order(specs...)
			w.until("all are refused", func(all map[string]pluginhost.Status) bool {
				for entry, kind := range kinds {
					lieIsNoMatter := name == "canary" && kind == plugin.Retention && all[entry].Reason == "" && all[entry].Version == versions[1]
					if s := all[entry]; s.Reason == "" && !lieIsNoMatter {
						return false
					}
				}
				return true
			})
			l.end(t)
			for entry, s := range w.status() {
				if kinds[entry] == "" || s.Version == versions[1] {
					continue
				}
				if s.Generation != was[entry].Generation || len(s.Errors) > 0 || !strings.Contains(s.Reason, says) {
					t.Errorf("%s: %+v, want generation %d and a reason with %q", entry, s, was[entry].Generation, says)
				}
			}
		})
	}
}

// TestUpgradesThatBreakGoBack lets upgrades break after they came into service: what
// they replaced comes back by itself, and the status says why. A crash costs no
// request.
func TestUpgradesThatBreakGoBack(t *testing.T) {
	for _, fault := range []string{"kill", "lie", "panic"} {
		t.Run(fault, func(t *testing.T) {
			w := start(t, options{bake: time.Minute})
			w.topics()
			w.serving()
			l := w.begin(0)
			var specs []pluginhost.Spec
			for entry := range kinds {
				s := w.spec(entry, 1)
				s.Args = []string{w.dir + "/bad-upgrade"}
				specs = append(specs, s)
			}
			w.order(specs...)
			serve := func(version string) func(all map[string]pluginhost.Status) bool {
				return func(all map[string]pluginhost.Status) bool {
					for entry := range kinds {
						// Nobody asks one that has sent its rules.
						pushed := entry == "push" && fault != "kill"
						if all[entry].Version != version && !pushed {
							return false
						}
					}
					return true
				}
			}
			w.until("the upgrades serve", serve(versions[1]))
			if fault != "kill" { // those that a breaker counts are felt
				l.may(everything...)
			}
			w.write(w.dir+"/bad-upgrade", fault)
			w.until("what was before serves", serve(versions[0]))
			l.end(t)
			for entry, s := range w.status() {
				if kinds[entry] != "" && (entry != "push" || fault == "kill") && !strings.Contains(s.Reason, pluginhost.ErrRolledBack.Error()) {
					t.Errorf("%s: %+v, want that it was rolled back", entry, s)
				}
			}
		})
	}
}
