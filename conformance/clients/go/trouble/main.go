// Command trouble runs a consumer group through one client, kills, pauses and replaces its members, and checks what
// they and the broker say.
//
//	trouble -addr A -group G [-type classic|consumer] [-records N] [-pause D] -- MEMBER-COMMAND...
//
// G is the name of a new topic too. The member command gets ADDRESS TOPIC GROUP TYPE as last arguments and prints
// events (see command member). What must hold:
//
//   - every record that was acknowledged is delivered, with its key, at least once;
//   - between two changes of what it owns a member sees the offsets of a partition one after the other;
//   - in one generation no partition has two owners;
//   - committed offsets never go back, and in the end are the ends of the partitions;
//   - in the end every member has a share, together they have everything, and the broker says the same;
//   - members that are asked to leave do, and the group is empty.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 6
	// members are as many as read at once; one more replaces the one that is killed.
	members = 3
	// patience bounds each wait for something that must happen.
	patience = 90 * time.Second
)

// plan is what a run is told.
type plan struct {
	addr, group string
	kind        string // type of the group: classic or consumer
	records     int
	produceFor  time.Duration // records come evenly during this time
	pause       time.Duration // longer than the session timeout
	command     []string      // of a member
}

func main() {
	var p plan
	flag.StringVar(&p.addr, "addr", "", "bootstrap address")
	flag.StringVar(&p.group, "group", "", "name of the group and of the topic")
	flag.StringVar(&p.kind, "type", "classic", "classic or consumer")
	flag.IntVar(&p.records, "records", 6000, "records in all")
	flag.DurationVar(&p.produceFor, "produce-for", 12*time.Second, "how long they take to be written")
	flag.DurationVar(&p.pause, "pause", 9*time.Second, "how long a member is stopped")
	flag.Parse()
	p.command = flag.Args()
	if p.addr == "" || p.group == "" || len(p.command) == 0 {
		fmt.Fprintln(os.Stderr, "trouble: -addr, -group and the command of a member are needed")
		os.Exit(2)
	}
	if err := p.run(); err != nil {
		fmt.Fprintln(os.Stderr, "trouble:", err)
		os.Exit(1)
	}
}

func (p plan) run() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), p.produceFor+p.pause+4*patience)
	defer cancel()
	// The broker may be away for a while, and the topic is new. kafkajs reads no compression but gzip.
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.addr), kgo.DefaultProduceTopic(p.group), kgo.AlwaysRetryEOF(),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.UnknownTopicRetries(-1), kgo.RecordRetries(1_000_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(ctx, partitions, 1, nil, p.group); err != nil {
		return err
	}
	c := newChecker()
	crew := &crew{plan: p, checker: c}
	defer crew.killAll()
	produced := make(chan error, 1)
	go func() { produced <- p.produce(ctx, cl, c) }()
	watched, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	go watch(watched, adm, p.group, c)

	if err := p.trouble(ctx, crew); err != nil {
		return err
	}
	if err := <-produced; err != nil {
		return err
	}
	if err := crew.await(ctx, "all is read, shared and committed", c.settled); err != nil {
		return err
	}
	if err := p.agrees(ctx, adm, crew); err != nil {
		return err
	}
	if err := crew.leave(ctx); err != nil {
		return err
	}
	if err := p.empty(ctx, adm); err != nil {
		return err
	}
	fmt.Println(c.summary())
	return c.verdict()
}

// trouble starts the members; when all read, the first is killed, the second paused, and one more is started.
func (p plan) trouble(ctx context.Context, crew *crew) error {
	for range members {
		if err := crew.start(); err != nil {
			return err
		}
	}
	reads := func(map[string]bool) error { return crew.checker.sharedAfter(p.records/10, crew.live()) }
	if err := crew.await(ctx, "all members read", reads); err != nil {
		return err
	}
	crew.kill(0)
	crew.stop(1)
	if err := crew.start(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.pause):
	}
	crew.resume(1)
	return nil
}

// produce writes the records evenly, each with its number as its key.
func (p plan) produce(ctx context.Context, cl *kgo.Client, c *checker) error {
	tick := time.NewTicker(p.produceFor / time.Duration(p.records))
	defer tick.Stop()
	failed := make(chan error, 1)
	for i := range p.records {
		cl.Produce(ctx, kgo.KeyStringRecord(fmt.Sprint(i), "value"), func(r *kgo.Record, err error) {
			if err == nil {
				c.acked(r.Partition, r.Offset, string(r.Key))
				return
			}
			select {
			case failed <- err:
			default:
			}
		})
		<-tick.C
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	c.allAcked()
	select {
	case err := <-failed:
		return fmt.Errorf("produce: %w", err)
	default:
		return nil
	}
}
