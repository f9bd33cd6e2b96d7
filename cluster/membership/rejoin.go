package membership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Pace and width of the search for others.
const (
	rejoinFirst  = 250 * time.Millisecond // the first pause of a node that is alone; then twice as long
	rejoinWidth  = 3                      // nodes that one round talks to
	seedsTimeout = 3 * time.Second
)

// rejoin looks for nodes that are not alive here, until the end. The library does not:
// it forgets the dead, so two halves of a cut network would stay apart for ever.
func (m *Membership) rejoin() {
	defer m.running.Done()
	pause, said := rejoinFirst, ""
	for {
		err := m.search()
		switch {
		case err == nil:
			said = ""
		case (errors.Is(err, ErrForeign) || errors.Is(err, ErrDuplicate)) && err.Error() != said:
			said = err.Error()
			m.log.Error("the others do not take this node", "error", err)
		default:
			m.log.Debug("looked for lost nodes", "error", err)
		}
		wait := RejoinInterval
		if m.alone() {
			wait, pause = pause, min(2*pause, RejoinInterval)
		} else {
			pause = rejoinFirst
		}
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(wait - rand.N(wait/4)):
		}
	}
}

// alone says that no other node is alive here.
func (m *Membership) alone() bool {
	return !slices.ContainsFunc(m.Members(), func(member Member) bool { return member.State == Alive })
}

// search talks to a few nodes that are not alive here: lost ones, and seeds that no
// member stands behind.
func (m *Membership) search() error {
	var missing []netip.AddrPort
	met := map[netip.AddrPort]bool{m.transport.advertise: true}
	for _, member := range m.Members() {
		met[member.Gossip] = true
		if member.State == Dead {
			missing = append(missing, member.Gossip)
		}
	}
	for _, seed := range m.seeds() {
		if !met[seed] {
			met[seed] = true
			missing = append(missing, seed)
		}
	}
	rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
	return m.Join(missing[:min(len(missing), rejoinWidth)]...)
}

// seeds asks for the seeds; what is no address is left out.
func (m *Membership) seeds() (found []netip.AddrPort) {
	if m.options.Seeds == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(m.ctx, seedsTimeout)
	defer cancel()
	for _, text := range m.options.Seeds(ctx, m.alive) {
		if a, err := netip.ParseAddrPort(text); err == nil {
			found = append(found, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
		}
	}
	return found
}

// Join exchanges everything with the nodes at these addresses. The error is of those
// that could not be reached or did not fit: then it wraps ErrForeign or ErrDuplicate.
func (m *Membership) Join(addresses ...netip.AddrPort) error {
	var errs []error
	for _, a := range addresses {
		m.mu.Lock()
		m.refused = nil
		m.mu.Unlock()
		_, err := m.list.Join([]string{a.String()})
		if err == nil {
			continue
		}
		m.mu.Lock()
		// The library keeps only the text; another refusal is of somebody who came here.
		if m.refused != nil && strings.Contains(err.Error(), m.refused.Error()) {
			err = m.refused
		}
		m.mu.Unlock()
		errs = append(errs, fmt.Errorf("join gossip at %s: %w", a, err))
	}
	return errors.Join(errs...)
}
