package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	groupMembers = 3
	beatEvery    = 3 * time.Second
	// joinersMax bounds how many members join at once.
	joinersMax = 3000
	// groupsSettle is how long the members beat before anything is counted.
	groupsSettle = 10 * time.Second
)

// groupsRow is what one kind of groups cost a broker.
type groupsRow struct {
	name           string
	beats, bad     int64
	elapsed, cpu   time.Duration
	anonKiB        int64
	goroutines     float64
	idleKiB        int64
	idleGoroutines float64
}

// groupsTable measures many groups of each protocol that do nothing but live.
func (o options) groupsTable(kinds []string) (string, error) {
	var b strings.Builder
	b.WriteString("| groups | heartbeats | CPU | memory | goroutines | target |\n|---|---|---|---|---|---|\n")
	for _, kind := range kinds {
		r, err := o.measureGroups(kind)
		if err != nil {
			return b.String(), fmt.Errorf("%s groups: %w", kind, err)
		}
		b.WriteString(r.line())
	}
	return b.String(), nil
}

// coreShareMax is the target: the share of one core.
const coreShareMax = 0.15

func (r groupsRow) line() string {
	share, mark := r.cpu.Seconds()/r.elapsed.Seconds(), "✓"
	if share >= coreShareMax {
		mark = "✗"
	}
	return fmt.Sprintf("| %s | %.0f/s, %d refused | %.1f %% of a core, %.1f µs each | %.0f MiB (%.0f without groups) | %.0f (%.0f without) | < %.0f %% %s |\n",
		r.name, float64(r.beats)/r.elapsed.Seconds(), r.bad, 100*share, r.cpu.Seconds()*1e6/float64(r.beats),
		float64(r.anonKiB)/1024, float64(r.idleKiB)/1024, r.goroutines, r.idleGoroutines, 100*coreShareMax, mark)
}

// measureGroups starts a broker, fills it with groups of a kind and measures it.
func (o options) measureGroups(kind string) (r groupsRow, err error) {
	b := &broker{name: "mortise", addr: "127.0.0.1:29092", dir: filepath.Join(o.dir, "groups"), argv: func(dir string) []string {
		return []string{o.mortise, "serve", "--data", dir, "--listen", "127.0.0.1:29092", "--admin-address", costAdmin}
	}}
	if err := b.fresh(); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := createTopics(b.addr, memberPartitions, memberTopic); err != nil {
		return r, err
	}
	if err := o.awaitCoordinator(b.addr); err != nil {
		return r, err
	}
	r.name = fmt.Sprintf("%d %s, %d members each", o.groups, kind, groupMembers)
	if r.idleKiB, err = b.anonymousKiB(); err != nil {
		return r, err
	}
	if r.idleGoroutines, err = metric(costAdmin, "go_goroutines"); err != nil {
		return r, err
	}
	members, err := o.join(b.addr, kind)
	defer func() {
		for _, m := range members {
			_ = m.conn.Close() // nothing is lost with a client's socket
		}
	}()
	if err != nil {
		return r, err
	}
	return r, o.live(b, members, &r)
}

// join makes all members, a bounded number at a time.
func (o options) join(addr, kind string) ([]*member, error) {
	members := make([]*member, o.groups*groupMembers)
	failed := make([]error, len(members))
	turn := make(chan struct{}, joinersMax)
	var running sync.WaitGroup
	for i := range members {
		turn <- struct{}{}
		running.Go(func() {
			defer func() { <-turn }()
			members[i], failed[i] = newMember(addr, kind, i)
		})
	}
	running.Wait()
	var in []*member
	for _, m := range members {
		if m != nil {
			in = append(in, m)
		}
	}
	for _, err := range failed {
		if err != nil {
			return in, err // thousands would say the same
		}
	}
	return in, nil
}

func groupName(i int) string { return fmt.Sprintf("group-%d", i) }

// awaitCoordinator waits until the broker serves groups: it makes and loads
// __consumer_offsets first.
func (o options) awaitCoordinator(addr string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	find, describe := kmsg.NewPtrFindCoordinatorRequest(), kmsg.NewPtrDescribeGroupsRequest()
	find.Version, describe.Version = 4, 5
	for i := range min(o.groups, 500) { // of a few hundred, some are in every partition
		find.CoordinatorKeys = append(find.CoordinatorKeys, groupName(i))
		describe.Groups = append(describe.Groups, groupName(i))
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if _, err := c.call(find); err != nil {
			return err
		}
		answer, err := c.call(describe)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(answer.(*kmsg.DescribeGroupsResponse).Groups, func(g kmsg.DescribeGroupsResponseGroup) bool { return g.ErrorCode != 0 }) {
			return nil
		}
	}
	return errors.New("groups are not served after a minute")
}

func newMember(addr, kind string, i int) (*member, error) {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	m := &member{group: groupName(i / groupMembers), client: fmt.Sprintf("member-%d", i), conn: conn}
	if kind == "classic" {
		return m, m.joinClassic()
	}
	return m, m.joinConsumer()
}

// live has all members beat, evenly spread, and measures once they have settled.
func (o options) live(b *broker, members []*member, r *groupsRow) error {
	var beats, bad atomic.Int64
	ctx, stop := context.WithCancelCause(context.Background())
	var running sync.WaitGroup
	for i, m := range members {
		first := beatEvery * time.Duration(i) / time.Duration(len(members))
		running.Go(func() {
			if err := m.beatUntil(ctx, first, &beats, &bad); err != nil {
				stop(err)
			}
		})
	}
	err := o.observe(ctx, b, &beats, &bad, r)
	stop(nil)
	running.Wait()
	return err
}

// observe waits for quiet and takes the figures of groupsFor.
func (o options) observe(ctx context.Context, b *broker, beats, bad *atomic.Int64, r *groupsRow) error {
	if err := pass(ctx, groupsSettle); err != nil {
		return err
	}
	before, err := b.cpu()
	if err != nil {
		return err
	}
	begin, beatsBefore := time.Now(), beats.Load()
	if err := pass(ctx, o.groupsFor); err != nil {
		return err
	}
	after, err := b.cpu()
	if err != nil {
		return err
	}
	r.elapsed, r.cpu, r.beats, r.bad = time.Since(begin), after-before, beats.Load()-beatsBefore, bad.Load()
	if r.goroutines, err = metric(costAdmin, "go_goroutines"); err != nil {
		return err
	}
	r.anonKiB, err = b.anonymousKiB()
	return err
}

// pass waits, or fails with the first member that failed.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beatUntil sends heartbeats at the member's own times.
func (m *member) beatUntil(ctx context.Context, first time.Duration, beats, bad *atomic.Int64) error {
	if err := m.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	buf := make([]byte, 64)
	next := time.NewTimer(first)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		next.Reset(beatEvery)
		good, err := m.heartbeat(buf)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", m.client, m.group, err)
		}
		beats.Add(1)
		if !good {
			bad.Add(1)
		}
	}
}
