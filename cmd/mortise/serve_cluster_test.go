package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/settings"
)

// loadCluster reads settings whose section cluster has more lines than listen.
func loadCluster(t *testing.T, lines string) *settings.Settings {
	t.Helper()
	s, err := settings.Load(settings.Source{File: "m.yaml", FileText: []byte("cluster:\n  listen: \"127.0.0.1:9390\"\n" + lines)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSettingsBecomeANodeOfACluster(t *testing.T) {
	dir := t.TempDir()
	keys, password := filepath.Join(dir, "keys"), filepath.Join(dir, "password")
	write(t, keys, must(t, "", "", "cluster", "key")+must(t, "", "", "cluster", "key"))
	write(t, password, "hush\n")
	s := loadCluster(t, "  join: [\"h:1\"]\n  voters: 3\n  gossip: {keys_file: "+keys+"}\n  user: broker\n  password_file: "+password+"\n")
	var o cluster.Options
	if err := joinOptions(&o, s); err != nil {
		t.Fatal(err)
	}
	if o.Peer.Listen != "127.0.0.1:9390" || o.Peer.Join[0] != "h:1" || o.Peer.Voters != 3 || len(o.Peer.GossipKeys) != 2 ||
		o.Broker.Replication.User != "broker" || o.Broker.Replication.Password != "hush" {
		t.Errorf("%+v, %+v", o.Peer, o.Broker.Replication)
	}
	alone, err := settings.Load(settings.Source{})
	if err != nil {
		t.Fatal(err)
	}
	var none cluster.Options
	if err := joinOptions(&none, alone); err != nil || none.Peer.Listen != "" {
		t.Errorf("%+v, %v; a node is alone unless it is told where others find it", none.Peer, err)
	}
}

// TestReloadWithoutItsKeysChangesNothing holds that what can be wrong comes before what
// counts at once.
func TestReloadWithoutItsKeysChangesNothing(t *testing.T) {
	r := runningNode{level: &slog.LevelVar{}, settings: loadCluster(t, "")}
	err := r.reload(loadCluster(t, "  gossip: {keys_file: "+t.TempDir()+"/nosuch}\nlog: {level: debug}\n"))
	if err == nil || r.level.Level() != slog.LevelInfo {
		t.Errorf("%v; the level is %v, want %v as before", err, r.level.Level(), slog.LevelInfo)
	}
}

// TestSecretsThatCannotBeRead holds that the key is named and no secret is shown.
func TestSecretsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	empty, wrong := filepath.Join(dir, "empty"), filepath.Join(dir, "wrong")
	write(t, empty, "\n")
	write(t, wrong, "hush\n")
	for _, c := range []struct{ lines, want string }{
		{"  gossip: {keys_file: " + dir + "/nosuch}\n", "cluster.gossip.keys_file: open "},
		{"  gossip: {keys_file: " + empty + "}\n", "it has no key; `mortise cluster key` makes one"},
		{"  gossip: {keys_file: " + wrong + "}\n", "key 1 has 3 bytes"},
		{"  user: broker\n  password_file: " + dir + "/nosuch\n", "cluster.password_file: "},
	} {
		err := joinOptions(&cluster.Options{}, loadCluster(t, c.lines))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") || output.ExitCode(err) != output.ExitUsage {
			t.Errorf("%s: %v, want %s", c.lines, err, c.want)
		}
	}
}
