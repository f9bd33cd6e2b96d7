package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cluster says which cluster the broker belongs to and how it meets the others.
type Cluster struct {
	ID         string   // empty: kept from the first start, which makes one
	Listen     string   // host:port for other nodes; empty: the node is alone
	Advertised string   // host:port that other nodes are told; empty: Listen
	Join       []string // host:port, or "@" and the path of a file; empty: found a cluster

	Voters            int // of the control plane; 0: as many as the nodes call for
	VoterReplaceAfter time.Duration

	Gossip Gossip

	// ReplicationListener is the listener that followers read from leaders by;
	// empty: the first without a login.
	ReplicationListener string
	User                string // who the node logs in as at such a listener; empty: nobody
	PasswordFile        string
}

// Gossip is how nodes notice each other.
type Gossip struct {
	Listen     string   // host:port, UDP and TCP; empty: a free port of the host of cluster.listen
	Advertised string   // host:port that other nodes are told; empty: Listen
	Keys       [][]byte // the first encrypts, all decrypt; empty: not encrypted
	KeysFile   string   // a file with such keys, one a line
}

// gossipKeysPath holds the keys of gossip, which are secret.
const gossipKeysPath = "cluster/gossip/keys"

// joinMax bounds the addresses to join by.
const joinMax = 64

// clusterKeys are the keys of the section cluster.
func clusterKeys() []Key {
	return []Key{
		{"cluster/id", "text", "", false,
			"The cluster's id. Empty: made at the first start and kept.",
			func(s *Settings, v any) error { return text(v, &s.Cluster.ID) }},
		{"cluster/listen", "host:port", "", false,
			"Where the other nodes of the cluster connect. Empty: the node is alone.",
			func(s *Settings, v any) error { return address(v, &s.Cluster.Listen) }},
		{"cluster/advertised", "host:port", "", false,
			"The address that other nodes are told. Empty: cluster.listen.",
			func(s *Settings, v any) error { return address(v, &s.Cluster.Advertised) }},
		{"cluster/join", "list of host:port or @file", []any{}, false,
			"cluster.listen of nodes of the cluster to join; one that lives is enough. A name may have many addresses; @file has one host:port a line. Empty: a new node founds a cluster. It counts only until the node belongs to one.",
			func(s *Settings, v any) error { return joinAddresses(v, &s.Cluster.Join) }},
		{"cluster/voters", "auto, 1, 3 or 5", "auto", false,
			"How many nodes decide for the cluster. auto: 1 below 3 nodes, 3 below 5, else 5.",
			func(s *Settings, v any) error { return voters(v, &s.Cluster.Voters) }},
		{"cluster/voter_replace_after", "duration such as 60s", "60s", false,
			"How long a node that decides may be gone before another decides in its place.",
			func(s *Settings, v any) error { return duration(v, &s.Cluster.VoterReplaceAfter, time.Second) }},
		{"cluster/gossip/listen", "host:port", "", false,
			"Where nodes gossip, UDP and TCP. Empty: a free port of the host of cluster.listen; other nodes find it. Name one where a firewall is between nodes.",
			func(s *Settings, v any) error { return address(v, &s.Cluster.Gossip.Listen) }},
		{"cluster/gossip/advertised", "host:port", "", false,
			"The address that other nodes gossip with. Empty: that of cluster.gossip.listen, or where that is every address of the machine, the host of cluster.advertised.",
			func(s *Settings, v any) error { return address(v, &s.Cluster.Gossip.Advertised) }},
		{gossipKeysPath, "list of keys", []any{}, true,
			"Keys that encrypt gossip and prove at cluster.listen that somebody is a node: 16, 24 or 32 bytes in base64. The first is used, all are taken. Empty: gossip is not encrypted, and whoever reaches cluster.listen is taken for a node.",
			func(s *Settings, v any) error { return gossipKeys(v, &s.Cluster.Gossip.Keys) }},
		{"cluster/gossip/keys_file", "path", "", true,
			"A file with such keys, one a line, in place of cluster.gossip.keys; a reload reads it again.",
			func(s *Settings, v any) error { return text(v, &s.Cluster.Gossip.KeysFile) }},
		{"cluster/replication_listener", "name of a listener", "", false,
			"The listener that other brokers copy partitions by; of the same name on every broker. Empty: the first without a login, else the first.",
			func(s *Settings, v any) error { return text(v, &s.Cluster.ReplicationListener) }},
		{"cluster/user", "text", "", false,
			"Who this broker logs in as where the replication listener wants a login.",
			func(s *Settings, v any) error { return text(v, &s.Cluster.User) }},
		{"cluster/password_file", "path", "", false,
			"A file with the password of cluster.user.",
			func(s *Settings, v any) error { return text(v, &s.Cluster.PasswordFile) }},
	}
}

// joinAddresses takes the list of addresses to join by.
func joinAddresses(v any, into *[]string) error {
	if err := texts(v, into); err != nil {
		return err
	}
	if len(*into) > joinMax {
		return fmt.Errorf("%d addresses are more than %d", len(*into), joinMax)
	}
	for _, a := range *into {
		if file, ok := strings.CutPrefix(a, "@"); ok {
			if file == "" {
				return errors.New(`"@" names no file`)
			}
			continue
		}
		host, port, err := splitHostPort(a)
		switch {
		case err != nil:
			return err
		case unspecified(host) || port == 0:
			return fmt.Errorf("nobody can be reached at %q", a)
		}
	}
	return nil
}

// voters takes auto or an odd number up to 5. From the environment it is text.
func voters(v any, into *int) error {
	switch fmt.Sprint(v) {
	case "auto":
		*into = 0
	case "1":
		*into = 1
	case "3":
		*into = 3
	case "5":
		*into = 5
	default:
		return fmt.Errorf("%s is none that there is", quoted(v))
	}
	return nil
}

// gossipKeys takes a list of keys. An error never shows one.
func gossipKeys(v any, into *[][]byte) error {
	var list []string
	if texts(v, &list) != nil {
		return errors.New("it is not a list of keys as text")
	}
	keys, err := ParseGossipKeys(list)
	*into = keys
	return err
}

// ParseGossipKeys reads keys of gossip in base64, as they stand in the file of
// settings or one a line in a file of keys. The error never shows a key.
func ParseGossipKeys(list []string) ([][]byte, error) {
	var keys [][]byte
	for i, text := range list {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		switch {
		case err != nil:
			return nil, fmt.Errorf("key %d is not base64; `mortise cluster key` makes one", i+1)
		case len(key) != 16 && len(key) != 24 && len(key) != 32:
			return nil, fmt.Errorf("key %d has %d bytes, want 16, 24 or 32; `mortise cluster key` makes one", i+1, len(key))
		case slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(key) }):
			return nil, fmt.Errorf("key %d is there twice", i+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// checkCluster looks at the section cluster as a whole, and at its addresses beside
// the others of this process.
func (s *Settings) checkCluster(problem func(path string, err error)) {
	c := &s.Cluster
	if c.Listen == "" {
		s.checkAlone(problem)
		return
	}
	for _, a := range []struct{ bound, told, boundPath, toldPath, example string }{
		{c.Listen, c.Advertised, "cluster/listen", "cluster/advertised", "node1.example.com:9390"},
		{c.Gossip.Listen, c.Gossip.Advertised, "cluster/gossip/listen", "cluster/gossip/advertised", "node1.example.com:7946"},
	} {
		if host, _, _ := splitHostPort(a.bound); a.bound == c.Listen && unspecified(host) && a.told == "" {
			problem(a.toldPath, fmt.Errorf("missing; %s means every address of this machine, and other nodes can't connect to that; write the one that they can reach, for example %q", a.bound, a.example))
		}
		if host, _, _ := splitHostPort(a.told); a.told != "" && unspecified(host) {
			problem(a.toldPath, fmt.Errorf("other nodes can't connect to %s; write a name or address that they can reach, for example %q", a.told, a.example))
		}
		for _, l := range s.Listeners {
			if clash(a.bound, l.Address) {
				problem(a.boundPath, fmt.Errorf("%s is taken by the listener %s; choose another port", a.bound, l.Name))
			}
		}
		if clash(a.bound, s.Admin.Address) {
			problem(a.boundPath, fmt.Errorf("%s is taken by admin.address; choose another port", a.bound))
		}
	}
	if clash(c.Listen, c.Gossip.Listen) {
		problem("cluster/gossip/listen", fmt.Errorf("%s is taken by cluster.listen; choose another port", c.Gossip.Listen))
	}
	if len(c.Gossip.Keys) > 0 && c.Gossip.KeysFile != "" {
		problem("cluster/gossip/keys_file", errors.New("cluster.gossip.keys are given too; choose one of them"))
	}
	s.checkReplicationListener(problem)
}

// checkAlone refuses what a node that is alone has no use for.
func (s *Settings) checkAlone(problem func(path string, err error)) {
	c := &s.Cluster
	for _, k := range []struct {
		path string
		set  bool
	}{
		{"cluster/advertised", c.Advertised != ""}, {"cluster/join", len(c.Join) > 0},
		{"cluster/gossip/listen", c.Gossip.Listen != ""}, {"cluster/gossip/advertised", c.Gossip.Advertised != ""},
		{gossipKeysPath, len(c.Gossip.Keys) > 0}, {"cluster/gossip/keys_file", c.Gossip.KeysFile != ""},
		{"cluster/replication_listener", c.ReplicationListener != ""},
		{"cluster/user", c.User != ""}, {"cluster/password_file", c.PasswordFile != ""},
	} {
		if k.set {
			problem(k.path, errors.New("without cluster.listen a node is alone; write for example listen: \"127.0.0.1:9390\""))
		}
	}
}

// checkReplicationListener holds that other brokers can copy by the listener.
func (s *Settings) checkReplicationListener(problem func(path string, err error)) {
	c := &s.Cluster
	if c.User != "" && c.PasswordFile == "" {
		problem("cluster/password_file", fmt.Errorf("missing; cluster.user is %s", c.User))
	}
	if c.User == "" && c.PasswordFile != "" {
		problem("cluster/user", errors.New("missing; cluster.password_file is given"))
	}
	l, ok := s.replicationListener()
	switch {
	case !ok:
		problem("cluster/replication_listener", fmt.Errorf("%s is none of the listeners", c.ReplicationListener))
	case l.Authenticator != "" && c.User == "":
		problem("cluster/user", fmt.Errorf("missing; other brokers copy partitions by the listener %s, which wants a login: write user and password_file, or add a listener without an authenticator that only brokers can reach", l.Name))
	}
}

// replicationListener is the one that brokers copy by; ok: there is one of the name.
func (s *Settings) replicationListener() (l Listener, ok bool) {
	for _, l := range s.Listeners {
		if l.Name == s.Cluster.ReplicationListener || s.Cluster.ReplicationListener == "" && l.Authenticator == "" {
			return l, true
		}
	}
	if s.Cluster.ReplicationListener == "" && len(s.Listeners) > 0 {
		return s.Listeners[0], true
	}
	return Listener{}, false
}
