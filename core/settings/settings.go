package settings

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/pluginhost"
)

// Settings is one whole, valid set of values. It does not change.
type Settings struct {
	Node       Node
	Cluster    Cluster
	Data       Data
	Listeners  []Listener
	Admin      Admin
	Log        Log
	Durability Durability
	Shutdown   Shutdown
	Security   Security
	Telemetry  Telemetry
	Plugins    Plugins

	// Defaults are Kafka's broker keys, by their Kafka names, as text.
	Defaults map[string]string

	values []Value
}

// Node says who this broker is.
type Node struct {
	ID   kafka.BrokerID
	Rack string
}

// Data says where things are kept.
type Data struct {
	Dir     string
	LogDirs []string // empty: one, Dir/logs
}

// Listener is an address that clients connect to.
type Listener struct {
	Name       string // for example PLAINTEXT
	Address    string // host:port to bind
	Advertised string // host:port that clients are told; empty: Address
	// Authenticator is the plugin that finds out who clients are; empty: they are
	// anonymous.
	Authenticator string
	SuperUsers    bool // Authenticator may say that a client is a super user
}

// Security says who may do what.
type Security struct {
	SuperUsers  []string // principals
	Authorizers []string // plugins, in the order in which they are asked
}

// Telemetry says what others may report to the broker.
type Telemetry struct {
	Clients bool // clients their metrics
}

// Plugins are what the broker may run beside its own code.
type Plugins struct {
	Catalogue       []pluginhost.Spec
	RunDir          string // empty: the system's for temporary files
	AllowUnverified bool
}

// AdvertisedHostPort splits what clients are told. Check has made sure that it
// can be split.
func (l Listener) AdvertisedHostPort() (host string, port int32) {
	text := l.Advertised
	if text == "" {
		text = l.Address
	}
	host, digits, _ := net.SplitHostPort(text)
	n, _ := strconv.ParseUint(digits, 10, 16)
	return host, int32(n)
}

// Admin is the HTTP listener for people and monitors.
type Admin struct {
	Address   string // empty: none
	Profiling bool   // it has /debug/pprof/
}

// Log says how the broker logs.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // auto, text, json
}

// Shutdown bounds a graceful stop.
type Shutdown struct {
	Timeout time.Duration
}

// Durability says what an acknowledgement by one broker means.
type Durability string

const (
	// PageCache acknowledges what the operating system has: it survives the
	// death of the process, replicas protect against the loss of the machine.
	PageCache Durability = "page-cache"
	// Fsync acknowledges what the disk has.
	Fsync Durability = "fsync"
)

// Value is one setting with its text and where it came from.
type Value struct {
	Key    string `json:"key"`    // as people write it: node.id, defaults log.retention.ms
	Value  any    `json:"value"`  // text, number, bool, list
	Origin string `json:"origin"` // default, FILE:LINE, environment NAME, flag --NAME

	raw any // with the secrets that Value lacks; never shown
}

// Text is the value as people read it: a list as JSON.
func (v Value) Text() string {
	switch v.Value.(type) {
	case []any, map[string]any:
		if b, err := json.Marshal(v.Value); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v.Value)
}

// Values are all settings in the order of the schema, then Kafka's keys that
// were set, by name.
func (s *Settings) Values() []Value { return s.values }
