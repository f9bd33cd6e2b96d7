package settings

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
)

// What items of lists are called.
const (
	aListener = "listener"
	aPlugin   = "plugin"
)

// listenerName is what a listener may be called.
var listenerName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// check looks at values that are right each by itself but wrong together, and
// tells problem of each.
func (s *Settings) check(problem func(path string, err error)) {
	for i, l := range s.Listeners {
		if field, err := l.check(); err != nil {
			problem("listeners", &itemError{aListener, i, field, err})
			continue
		}
		for j, earlier := range s.Listeners[:i] {
			switch {
			case l.Name == earlier.Name:
				problem("listeners", &itemError{aListener, i, "name", fmt.Errorf("%s is the name of listener %d too", l.Name, j+1)})
			case clash(l.Address, earlier.Address):
				problem("listeners", &itemError{aListener, i, "address", fmt.Errorf("%s is taken by listener %d", l.Address, j+1)})
			}
		}
		if clash(s.Admin.Address, l.Address) {
			problem("admin/address", fmt.Errorf("%s is taken by the listener %s; choose another port", s.Admin.Address, l.Name))
		}
	}
	if s.Admin.Profiling && s.Admin.Address == "" {
		problem("admin/profiling", errors.New("there is no admin.address to serve profiles on"))
	}
	s.checkCluster(problem)
	s.checkPlugins(problem)
	for i, dir := range s.Data.LogDirs {
		for _, earlier := range s.Data.LogDirs[:i] {
			if filepath.Clean(dir) == filepath.Clean(earlier) {
				problem("data/log_dirs", fmt.Errorf("%s is there twice", dir))
			}
		}
	}
}

// itemError is a problem of one item of a list: a listener, a plugin.
type itemError struct {
	what  string // listener
	item  int    // from 0
	field string // empty: the item as a whole
	err   error
}

// Error implements error.
func (e *itemError) Error() string {
	if e.field == "" {
		return fmt.Sprintf("%s %d: %v", e.what, e.item+1, e.err)
	}
	return fmt.Sprintf("%s %d: %s: %v", e.what, e.item+1, e.field, e.err)
}

// Unwrap implements errors.Unwrap.
func (e *itemError) Unwrap() error { return e.err }

// clash reports whether two addresses can't both be bound. Port 0 is a free one
// each time. Names are not looked up.
func clash(a, b string) bool {
	hostA, portA, errA := splitHostPort(a)
	hostB, portB, errB := splitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == 0 {
		return false
	}
	return hostA == hostB || unspecified(hostA) || unspecified(hostB)
}

// check gives the field that is wrong.
func (l Listener) check() (field string, err error) {
	if !listenerName.MatchString(l.Name) {
		return "name", fmt.Errorf("%q is not upper-case letters, digits and underscores; write for example PLAINTEXT", l.Name)
	}
	host, port, err := splitHostPort(l.Address)
	if err != nil {
		return "address", err
	}
	if l.Advertised == "" {
		if unspecified(host) {
			return "advertised", fmt.Errorf("missing; %s means every address of this machine, and clients can't connect to that; write the one that they can reach, for example advertised: \"broker1.example.com:%d\"", l.Address, port)
		}
		return "", nil
	}
	told, toldPort, err := splitHostPort(l.Advertised)
	switch {
	case err != nil:
		return "advertised", err
	case unspecified(told):
		return "advertised", fmt.Errorf("clients can't connect to %s; write a name or address that they can reach, for example \"broker1.example.com:%d\"", l.Advertised, toldPort)
	}
	return "", nil
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
