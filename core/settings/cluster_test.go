package settings

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

const (
	oneKey     = "MDEyMzQ1Njc4OWFiY2RlZg==" // 16 bytes
	anotherKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
)

func TestClusterSection(t *testing.T) {
	s, err := load(t, "m.yaml", `
cluster:
  listen: "0.0.0.0:9390"
  advertised: "node1.example.com:9390"
  join: ["node2.example.com:9390", "@/etc/mortise/peers"]
  voters: 3
  voter_replace_after: 5m
  gossip:
    keys: ["`+oneKey+`", "`+anotherKey+`"]
`, "MORTISE_CLUSTER__GOSSIP__LISTEN=0.0.0.0:7000")
	if err != nil {
		t.Fatal(err)
	}
	c := &s.Cluster
	if c.Listen != "0.0.0.0:9390" || len(c.Join) != 2 || c.Voters != 3 || c.VoterReplaceAfter != 5*time.Minute {
		t.Errorf("%+v", c)
	}
	if len(c.Gossip.Keys) != 2 || string(c.Gossip.Keys[0]) != "0123456789abcdef" || len(c.Gossip.Keys[1]) != 32 {
		t.Errorf("keys %q", c.Gossip.Keys)
	}
	if c.Gossip.Listen != "0.0.0.0:7000" || c.Gossip.Advertised != "" {
		t.Errorf("gossip at %s, told %s", c.Gossip.Listen, c.Gossip.Advertised)
	}
	for _, v := range s.Values() {
		if strings.Contains(v.Text(), oneKey) || strings.Contains(v.Text(), anotherKey) {
			t.Errorf("%s shows a key: %s", v.Key, v.Text())
		}
	}
}

// TestAloneByDefault holds that nothing listens for other nodes unless it is asked to.
func TestAloneByDefault(t *testing.T) {
	s, err := Load(Source{})
	if err != nil {
		t.Fatal(err)
	}
	if c := &s.Cluster; c.Listen != "" || c.Gossip.Listen != "" || c.Voters != 0 || c.VoterReplaceAfter != time.Minute {
		t.Errorf("%+v", c)
	}
	s, err = load(t, "m.yaml", "cluster: {listen: \"127.0.0.2:9390\", voters: auto}\n", "MORTISE_CLUSTER__VOTERS=5")
	if err != nil {
		t.Fatal(err)
	}
	if c := &s.Cluster; c.Voters != 5 {
		t.Errorf("%+v", c)
	}
}

func TestErrorsOfTheClusterNameTheirLine(t *testing.T) {
	const listens = "cluster:\n  listen: \"127.0.0.1:9390\"\n  "
	const secured = "listeners:\n  - {name: SASL, address: \"h:1\", authenticator: users}\n"
	for name, c := range map[string]struct{ text, want string }{
		"join alone":        {"cluster:\n  join: [\"h:1\"]\n", "m.yaml:2: cluster.join: without cluster.listen a node is alone"},
		"keys alone":        {"cluster:\n  gossip: {keys: [\"" + oneKey + "\"]}\n", "m.yaml:2: cluster.gossip.keys: without cluster.listen a node is alone"},
		"user alone":        {"cluster:\n  user: broker\n", "m.yaml:2: cluster.user: without cluster.listen a node is alone"},
		"no port":           {listens + "join: [h]\n", `m.yaml:3: cluster.join: "h" is not host:port (want list of host:port or @file)`},
		"no file":           {listens + "join: [\"@\"]\n", `m.yaml:3: cluster.join: "@" names no file`},
		"everywhere":        {listens + "join: [\"0.0.0.0:9390\"]\n", `m.yaml:3: cluster.join: nobody can be reached at "0.0.0.0:9390"`},
		"two voters":        {listens + "voters: 2\n", "m.yaml:3: cluster.voters: 2 is none that there is (want auto, 1, 3 or 5)"},
		"wait":              {listens + "voter_replace_after: 1ms\n", "m.yaml:3: cluster.voter_replace_after: 1ms is less than 1s"},
		"short key":         {listens + "gossip: {keys: [c2VjcmV0]}\n", "m.yaml:3: cluster.gossip.keys: key 1 has 6 bytes, want 16, 24 or 32"},
		"key twice":         {listens + "gossip: {keys: [\"" + oneKey + "\", \"" + oneKey + "\"]}\n", "cluster.gossip.keys: key 2 is there twice"},
		"no base64":         {listens + "gossip: {keys: [\"%%\"]}\n", "cluster.gossip.keys: key 1 is not base64; `mortise cluster key` makes one"},
		"keys and file":     {listens + "gossip: {keys: [\"" + oneKey + "\"], keys_file: k}\n", "m.yaml:3: cluster.gossip.keys_file: cluster.gossip.keys are given too"},
		"told nothing":      {"cluster:\n  listen: \"0.0.0.0:9390\"\n", "cluster.advertised: missing; 0.0.0.0:9390 means every address"},
		"told everything":   {listens + "advertised: \"0.0.0.0:1\"\n", "m.yaml:3: cluster.advertised: other nodes can't connect to 0.0.0.0:1"},
		"clients' port":     {"cluster:\n  listen: \"127.0.0.1:9092\"\n", "m.yaml:2: cluster.listen: 127.0.0.1:9092 is taken by the listener PLAINTEXT"},
		"admin's port":      {listens + "gossip: {listen: \"127.0.0.1:9644\"}\n", "m.yaml:3: cluster.gossip.listen: 127.0.0.1:9644 is taken by admin.address"},
		"own port":          {listens + "gossip: {listen: \"127.0.0.1:9390\"}\n", "m.yaml:3: cluster.gossip.listen: 127.0.0.1:9390 is taken by cluster.listen"},
		"no such listener":  {listens + "replication_listener: X\n", "m.yaml:3: cluster.replication_listener: X is none of the listeners"},
		"login":             {secured + listens + "voters: 1\n", "cluster.user: missing; other brokers copy partitions by the listener SASL, which wants a login"},
		"no password":       {secured + listens + "user: broker\n", "cluster.password_file: missing; cluster.user is broker"},
		"password, no user": {listens + "password_file: p\n", "cluster.user: missing; cluster.password_file is given"},
	} {
		_, err := load(t, "m.yaml", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), oneKey) {
			t.Errorf("%s: the error shows a key: %v", name, err)
		}
	}
}

// TestKeysChangeLive holds that a rotation of keys needs no restart although its
// values are never shown.
func TestKeysChangeLive(t *testing.T) {
	text := func(keys ...string) string {
		return "cluster:\n  listen: \"127.0.0.1:9390\"\n  gossip: {keys: [\"" + strings.Join(keys, "\", \"") + "\"]}\n"
	}
	was, err := load(t, "m.yaml", text(oneKey))
	if err != nil {
		t.Fatal(err)
	}
	next, err := load(t, "m.yaml", text(anotherKey))
	if err != nil {
		t.Fatal(err)
	}
	changes := Changes(was, next)
	if len(changes) != 1 || changes[0].Key != "cluster.gossip.keys" || changes[0].Restart {
		t.Fatalf("%+v", changes)
	}
	want, err := base64.StdEncoding.DecodeString(anotherKey)
	if err != nil {
		t.Fatal(err)
	}
	if s := InForce(was, next); len(s.Cluster.Gossip.Keys) != 1 || string(s.Cluster.Gossip.Keys[0]) != string(want) {
		t.Errorf("keys in force: %q", s.Cluster.Gossip.Keys)
	}
}

func TestReplicationListener(t *testing.T) {
	const text = `listeners:
  - {name: SASL, address: "h:1", authenticator: users}
  - {name: INSIDE, address: "h:2"}
cluster: {listen: "127.0.0.1:9390"}
`
	s, err := load(t, "m.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := s.replicationListener(); l.Name != "INSIDE" {
		t.Errorf("%+v; a listener without a login comes first", l)
	}
}
