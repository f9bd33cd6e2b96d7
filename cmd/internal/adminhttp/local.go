package adminhttp

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
)

// Local says whether an address is one of this machine, whatever name it goes by: what
// only a broker here may be told is sent nowhere else.
func Local(ctx context.Context, address string) bool {
	u, err := url.Parse(base(address))
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	foreign := func(ip netip.Addr) bool {
		ip = ip.Unmap().WithZone("")
		return !ip.IsLoopback() && !ip.IsUnspecified() && !slices.ContainsFunc(own, func(a net.Addr) bool {
			p, err := netip.ParsePrefix(a.String())
			return err == nil && p.Addr() == ip
		})
	}
	return len(ips) > 0 && !slices.ContainsFunc(ips, foreign)
}
