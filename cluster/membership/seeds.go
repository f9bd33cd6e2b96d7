package membership

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// Bounds of what an entry may stand for.
const (
	seedsMax     = 256     // addresses in all
	seedLineMax  = 1 << 10 // bytes in a line of a file
	seedFileMark = "@"
)

// Lookup finds the addresses of a DNS name, as net.Resolver.LookupHost.
type Lookup func(ctx context.Context, host string) ([]string, error)

// Resolve turns what people write into addresses, host:port with the host an IP. An
// entry is an address, a DNS name with a port (all of its addresses), or "@file" with
// one entry in each line; empty lines and lines that begin with "#" do not count. An
// entry that can't be read costs nothing but itself: the error names all of those, and
// the addresses are what could be found. nil lookup asks the system.
func Resolve(ctx context.Context, entries []string, lookup Lookup) ([]string, error) {
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	var found []string
	var errs []error
	for _, entry := range entries {
		plain := []string{entry}
		if name, isFile := strings.CutPrefix(entry, seedFileMark); isFile {
			var err error
			if plain, err = seedFile(name); err != nil {
				errs = append(errs, err)
			}
		}
		for _, text := range plain {
			addresses, err := resolve(ctx, text, lookup)
			if err != nil {
				errs = append(errs, err)
			}
			for _, a := range addresses {
				if len(found) < seedsMax && !slices.Contains(found, a) {
					found = append(found, a)
				}
			}
		}
	}
	return found, errors.Join(errs...)
}

// resolve finds the addresses of one host:port.
func resolve(ctx context.Context, text string, lookup Lookup) ([]string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("%q is not host:port", text)
	}
	if net.ParseIP(host) != nil {
		return []string{text}, nil
	}
	ips, err := lookup(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	for i, ip := range ips {
		ips[i] = net.JoinHostPort(ip, port)
	}
	return ips, nil
}

// seedFile reads the entries of a file.
func seedFile(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	s := bufio.NewScanner(f)
	s.Buffer(nil, seedLineMax)
	for s.Scan() && len(lines) < seedsMax {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if err := s.Err(); err != nil {
		return lines, fmt.Errorf("%s: %w", name, err)
	}
	return lines, nil
}
