package adminhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bounds of asking.
const (
	wait         = 3 * time.Second // for one answer: a person waits
	bodyBytesMax = 32 << 20        // a topic of 100,000 partitions fits
	AskedMax     = 64              // addresses that Each asks
)

// Port is where admin listeners are unless somebody chose another.
const Port = "9644"

// ErrNotFound says that the broker has no such page.
var ErrNotFound = errors.New("no such page")

// Get reads a page of the listener at an address, host:port or a URL. A page that says
// that something is wrong (503) is an answer like any other.
func Get[T any](ctx context.Context, address, path string) (page T, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, base(address)+path, nil)
	if err != nil {
		return page, fmt.Errorf("admin address %q: %w", address, err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return page, reason(err)
	}
	defer r.Body.Close()
	switch r.StatusCode {
	case http.StatusOK, http.StatusServiceUnavailable:
	case http.StatusNotFound:
		return page, ErrNotFound
	default:
		return page, fmt.Errorf("%s answers %s", q.URL, r.Status)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax))
	if err != nil {
		return page, reason(err)
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return page, fmt.Errorf("%s is no admin listener of a broker: %w", q.URL, err)
	}
	return page, nil
}

// reason takes the method and the address off an error: callers name the address.
func reason(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// base is the URL that an address means, without a slash at its end.
func base(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return strings.TrimSuffix(address, "/")
}

// Answer is what became of asking one address.
type Answer[T any] struct {
	Address string
	Page    T
	Err     error
}

// Each asks several addresses at once, AskedMax at most, and gives the answers in their
// order.
func Each[T any](ctx context.Context, addresses []string, path string) []Answer[T] {
	answers := make([]Answer[T], min(len(addresses), AskedMax))
	var wg sync.WaitGroup
	for i := range answers {
		answers[i].Address = addresses[i]
		wg.Go(func() { answers[i].Page, answers[i].Err = Get[T](ctx, addresses[i], path) })
	}
	wg.Wait()
	return answers
}

// Guess are the addresses where the admin listeners of brokers are by default.
func Guess(hosts []string) []string {
	var addresses []string
	seen := map[string]bool{}
	for _, host := range hosts {
		if !seen[host] {
			seen[host] = true
			addresses = append(addresses, net.JoinHostPort(host, Port))
		}
	}
	return addresses
}
