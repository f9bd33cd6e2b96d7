package settings

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
)

// listenerName is what a listener may be called.
var listenerName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// check looks at values that are right each by itself but wrong together.
func (s *Settings) check() error {
	var problems []error
	names := map[string]bool{}
	for i, l := range s.Listeners {
		if err := l.check(); err != nil {
			problems = append(problems, fmt.Errorf("listener %d: %w", i+1, err))
			continue
		}
		if names[l.Name] {
			problems = append(problems, fmt.Errorf("listener %d: the name %s is taken by an earlier one", i+1, l.Name))
		}
		names[l.Name] = true
	}
	return errors.Join(problems...)
}

func (l Listener) check() error {
	if !listenerName.MatchString(l.Name) {
		return fmt.Errorf("name: %q is not upper-case letters, digits and underscores; write for example PLAINTEXT", l.Name)
	}
	host, port, err := splitHostPort(l.Address)
	if err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if l.Advertised == "" {
		if unspecified(host) {
			return fmt.Errorf("advertised: missing; %s means every address of this machine, and clients can't connect to that; write the one that they can reach, for example advertised: \"broker1.example.com:%d\"", l.Address, port)
		}
		return nil
	}
	told, toldPort, err := splitHostPort(l.Advertised)
	switch {
	case err != nil:
		return fmt.Errorf("advertised: %w", err)
	case unspecified(told):
		return fmt.Errorf("advertised: clients can't connect to %s; write a name or address that they can reach, for example \"broker1.example.com:%d\"", l.Advertised, toldPort)
	}
	return nil
}

// splitHostPort is net.SplitHostPort with a numeric port and kinder words.
func splitHostPort(s string) (host string, port uint16, err error) {
	host, digits, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not host:port", s)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q: the port is not a number from 0 to 65535", s)
	}
	return host, uint16(n), nil
}

// unspecified reports whether a host stands for every address of the machine.
func unspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}
