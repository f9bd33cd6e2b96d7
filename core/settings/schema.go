package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// Key describes one key of the file.
type Key struct {
	Path    string // parts joined by "/"
	Type    string // what people should write
	Default any
	Live    bool // a reload changes it without a restart
	Doc     string

	// set checks a value as the parser gave it and stores it.
	set func(*Settings, any) error
}

// Name is the key as people write it, with dots between its parts.
func (k Key) Name() string { return shown(k.Path) }

// defaultsPath holds Kafka's keys, which core/config describes.
const defaultsPath = "defaults"

// Keys is the schema: every key of the file but Kafka's own.
func Keys() []Key { return slices.Concat(nodeKeys(), clusterKeys(), brokerKeys()) }

// nodeKeys are the keys of the section node.
func nodeKeys() []Key {
	return []Key{
		{"node/id", "integer from 0", 1, false,
			"The id of this broker; no two of a cluster are alike.",
			func(s *Settings, v any) error {
				n, err := integer(v, 0, 1<<31-1)
				s.Node.ID = kafka.BrokerID(n)
				return err
			}},
		{"node/rack", "text", "", false,
			"Where the broker stands; replicas are spread over racks.",
			func(s *Settings, v any) error { return text(v, &s.Node.Rack) }},
	}
}

// brokerKeys are the keys of the other sections.
func brokerKeys() []Key {
	return []Key{
		{"data/dir", "path", "mortise-data", false,
			"The folder for everything that the broker keeps.",
			func(s *Settings, v any) error { return filled(v, &s.Data.Dir) }},
		{"data/log_dirs", "list of paths", []any{}, false,
			"Folders for partitions, one per disk. Empty: one, logs inside data.dir.",
			func(s *Settings, v any) error { return texts(v, &s.Data.LogDirs) }},
		{"listeners", "list of {name, address, advertised, authenticator, super_users}", defaultListeners(), false,
			"Where clients connect, and the address that they are told to use. With authenticator, the name of a plugin, clients log in by SASL PLAIN; super_users: it may say that a client is one.",
			func(s *Settings, v any) error { return listeners(v, &s.Listeners) }},
		{"admin/address", "host:port", "127.0.0.1:9644", false,
			"The HTTP listener for metrics, health and /v1. Empty: none.",
			func(s *Settings, v any) error { return address(v, &s.Admin.Address) }},
		{"admin/profiling", "true or false", false, false,
			"Serves the profiles of Go's runtime under /debug/pprof/ of admin.address, to everybody who reaches it.",
			func(s *Settings, v any) error { return truth(v, &s.Admin.Profiling) }},
		{"log/level", "debug, info, warn or error", "info", true,
			"The least important line that is logged.",
			func(s *Settings, v any) error { return oneOf(v, &s.Log.Level, "debug", "info", "warn", "error") }},
		{"log/format", "auto, text or json", "auto", false,
			"How lines look. auto: text on a terminal, JSON elsewhere.",
			func(s *Settings, v any) error { return oneOf(v, &s.Log.Format, "auto", "text", "json") }},
		{"durability", "page-cache or fsync", string(PageCache), false,
			"What an acknowledgement means. page-cache: the operating system has the record. fsync: the disk has it.",
			func(s *Settings, v any) error {
				var d string
				err := oneOf(v, &d, string(PageCache), string(Fsync))
				s.Durability = Durability(d)
				return err
			}},
		{"security/super_users", "list of principals", []any{}, false,
			"Who may do everything: User:admin for example.",
			func(s *Settings, v any) error { return texts(v, &s.Security.SuperUsers) }},
		{"security/authorizers", "list of plugins", []any{}, false,
			"Authorizer plugins by name, asked in this order until one does not abstain. Empty: everybody may do everything.",
			func(s *Settings, v any) error { return texts(v, &s.Security.Authorizers) }},
		{"telemetry/clients", "true or false", false, false,
			"Takes the metrics that clients push (KIP-714) and shows them on /metrics; kafka-client-metrics says which clients push what. false: clients do not learn that they could.",
			func(s *Settings, v any) error { return truth(v, &s.Telemetry.Clients) }},
		{cataloguePath, "list of entries", []any{}, false,
			"Plugins that this broker runs; an entry of the cluster's catalogue with the same name takes the place of one here.",
			func(s *Settings, v any) error { return catalogue(v, &s.Plugins.Catalogue) }},
		{"plugins/run_dir", "path", "", false,
			"Where plugin processes have their private folders; a short path. Empty: the system's folder for temporary files.",
			func(s *Settings, v any) error { return text(v, &s.Plugins.RunDir) }},
		{"plugins/allow_unverified", "true or false", false, false,
			"Runs binaries without a digest. For development.",
			func(s *Settings, v any) error { return truth(v, &s.Plugins.AllowUnverified) }},
		{"shutdown/timeout", "duration such as 30s", "30s", true,
			"How long a graceful stop may take.",
			func(s *Settings, v any) error { return duration(v, &s.Shutdown.Timeout, time.Second) }},
	}
}

func defaultListeners() []any {
	return []any{map[string]any{"name": "PLAINTEXT", "address": "127.0.0.1:9092"}}
}

// integer takes a whole number. A text is taken only from the environment and
// flags, which know no other type and have been through fromText.
func integer(v any, low, high int64) (int64, error) {
	var n int64
	switch v := v.(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	case float64: // JSON has no other number
		if n = int64(v); float64(n) != v {
			return 0, fmt.Errorf("%v is not a whole number", v)
		}
	default:
		return 0, fmt.Errorf("%s is not a number", quoted(v))
	}
	if n < low || n > high {
		return 0, fmt.Errorf("%d is not between %d and %d", n, low, high)
	}
	return n, nil
}

func text(v any, into *string) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("%s is not text; put it in quotes", quoted(v))
	}
	*into = s
	return nil
}

// address takes host:port, or nothing.
func address(v any, into *string) error {
	if err := text(v, into); err != nil || *into == "" {
		return err
	}
	_, _, err := splitHostPort(*into)
	return err
}

func filled(v any, into *string) error {
	if err := text(v, into); err != nil {
		return err
	}
	if *into == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func texts(v any, into *[]string) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s is not a list", quoted(v))
	}
	*into = nil
	for _, item := range list {
		var s string
		if err := filled(item, &s); err != nil {
			return err
		}
		*into = append(*into, s)
	}
	return nil
}

// truth takes true or false.
func truth(v any, into *bool) error {
	b, ok := v.(bool)
	if !ok {
		return fmt.Errorf("%s is neither true nor false", quoted(v))
	}
	*into = b
	return nil
}

func oneOf(v any, into *string, allowed ...string) error {
	if err := text(v, into); err != nil {
		return err
	}
	for _, a := range allowed {
		if *into == a {
			return nil
		}
	}
	return fmt.Errorf("%q is none that there is", *into)
}

func duration(v any, into *time.Duration, low time.Duration) error {
	var s string
	if err := text(v, &s); err != nil {
		return fmt.Errorf("%s is not a duration", quoted(v))
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration", s)
	}
	if d < low {
		return fmt.Errorf("%s is less than %s", d, low)
	}
	*into = d
	return nil
}

// listeners takes the list of listeners; Check looks at them as a set.
func listeners(v any, into *[]Listener) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("%s is not a list of listeners; write for example [{name: PLAINTEXT, address: \"127.0.0.1:9092\"}]", quoted(v))
	}
	*into = nil
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return &itemError{aListener, i, "", fmt.Errorf("%s is not {name, address, advertised, authenticator, super_users}", quoted(item))}
		}
		l := Listener{}
		for name, value := range fields {
			var err error
			switch name {
			case "name":
				err = filled(value, &l.Name)
			case "address":
				err = filled(value, &l.Address)
			case "advertised":
				err = filled(value, &l.Advertised)
			case "authenticator":
				err = filled(value, &l.Authenticator)
			case "super_users":
				err = truth(value, &l.SuperUsers)
			default:
				err = fmt.Errorf("no such field; there are name, address, advertised, authenticator, super_users")
			}
			if err != nil {
				return &itemError{aListener, i, name, err}
			}
		}
		*into = append(*into, l)
	}
	return nil
}

// quoted shows a value as it was written, near enough for a person.
func quoted(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}
