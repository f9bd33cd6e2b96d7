package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.mortise, "mortise", "./mortise", "the mortise binary")
	flag.StringVar(&o.kafka, "kafka", "", "folder with Kafka's jars; empty: Mortise alone")
	flag.StringVar(&o.against, "against", "", "another mortise binary in Kafka's place")
	flag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "mortise-bench"), "folder for data; emptied")
	flag.StringVar(&o.only, "only", "", "run only the rows whose names hold this text")
	flag.Float64Var(&o.scale, "scale", 0.25, "share of the full amount of data; 1 is some 2 GiB a row")
	flag.IntVar(&o.repeat, "repeat", 3, "runs of each row, of which the median counts")
	flag.IntVar(&o.many, "many", 1000, "partitions of each of ten topics")
	flag.IntVar(&o.warmMiB, "warm", 4096, "MiB through each broker before the first row: a JVM needs them to compile")
	flag.BoolVar(&o.cold, "cold", false, "do not touch the system's free memory first")
	costs := flag.Bool("costs", false, "count allocations and system calls per request of Mortise, and nothing else")
	flag.IntVar(&o.groups, "groups", 0, "measure so many groups of each protocol, and nothing else")
	flag.DurationVar(&o.groupsFor, "groups-for", 30*time.Second, "how long to measure groups")
	flag.StringVar(&o.kinds, "group-kinds", "classic,consumer", "protocols of the groups")
	flag.StringVar(&o.plugins, "plugins", "", "measure what plugins cost, by this binary of conformance/pluginload/faulty, and nothing else")
	flag.BoolVar(&o.replicated, "replicated", false, "measure clusters of three nodes, and nothing else")
	bare := flag.String("serve-bare", "", "be the bare sendfile loop on this file")
	of := flag.Int("partitions", partitions, "regions in the file of -serve-bare")
	flag.Parse()
	if *bare != "" {
		fmt.Fprintln(os.Stderr, "bench:", bareServe(*bare, *of))
		os.Exit(1)
	}
	text, err := o.report(*costs)
	fmt.Print(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report runs what is asked for and returns its table, also of what was done
// before an error.
func (o options) report(costs bool) (string, error) {
	if o.groups > 0 {
		return o.groupsTable(strings.Split(o.kinds, ","))
	}
	if o.plugins != "" {
		return o.pluginsTable(o.plugins)
	}
	if o.replicated {
		rows, err := o.runReplicated()
		return o.table(rows), err
	}
	if costs {
		all, err := o.costs()
		return costTable(all), err
	}
	rows, err := o.run()
	return o.table(rows), err
}

// options are the flags.
type options struct {
	mortise, kafka, against, dir, only string
	scale                              float64
	repeat, many, warmMiB              int
	cold                               bool
	groups                             int
	groupsFor                          time.Duration
	kinds, plugins                     string
	replicated                         bool
}

// brokers are the two sides; theirs is nil when Mortise runs alone.
func (o options) brokers() (ours, theirs *broker) {
	ours = o.mortiseBroker("mortise", o.mortise, "127.0.0.1:29092")
	switch {
	case o.against != "":
		return ours, o.mortiseBroker("other", o.against, "127.0.0.1:29095")
	case o.kafka == "":
		return ours, nil
	}
	jars := filepath.Join(o.kafka, "*")
	theirs = &broker{
		name: "kafka", addr: "127.0.0.1:29095", dir: filepath.Join(o.dir, "kafka"),
		prep: func(dir string) error { return formatKafka(jars, dir) },
		argv: func(dir string) []string { return kafkaCommand(jars, dir) },
	}
	return ours, theirs
}

// mortiseBroker is a broker of a build of Mortise.
func (o options) mortiseBroker(name, binary, addr string) *broker {
	return &broker{name: name, addr: addr, dir: filepath.Join(o.dir, name), argv: func(dir string) []string {
		return []string{binary, "serve", "--data", dir, "--listen", addr, "--admin-address", ""}
	}}
}

// formatKafka writes a one-node configuration and formats its directory.
func formatKafka(jars, dir string) error {
	text := `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:29096
listeners=PLAINTEXT://127.0.0.1:29095,CONTROLLER://127.0.0.1:29096
advertised.listeners=PLAINTEXT://127.0.0.1:29095,CONTROLLER://127.0.0.1:29096
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
log.dirs=` + filepath.Join(dir, "data") + "\n"
	return formatKafkaDir(jars, dir, text)
}

// run runs every row on all sides in turn.
func (o options) run() ([]row, error) {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	remove, err := o.touchMemory(reserve)
	defer remove()
	if err != nil {
		return nil, err
	}
	var s sides
	s.ours, s.theirs = o.brokers()
	if s.bare, err = bareBroker(o.dir, partitions, warmReadMiB*mib); err != nil {
		return nil, err
	}
	rows, err := o.loads(s)
	if err != nil {
		return rows, err
	}
	more, err := o.lives(s)
	return append(rows, more...), err
}

// touchMemory touches the free memory but for what is kept back, unless the flags say not
// to. remove undoes what that left on the disk.
func (o options) touchMemory(keep int64) (remove func(), err error) {
	remove = func() {}
	if o.cold {
		return remove, nil
	}
	free, err := freeMemory()
	if err != nil {
		return remove, err
	}
	undo, err := warmMemory(o.dir, (free-keep)/mib)
	if undo != nil {
		remove = func() { _ = undo() } // the folder is emptied by the next run
	}
	return remove, err
}

// reserve is the free memory that is not touched: for the brokers themselves.
const reserve = 3 * gib

// lives runs what restarts the brokers.
func (o options) lives(s sides) ([]row, error) {
	if o.only != "" && !strings.Contains("lifecycle", o.only) {
		return nil, nil
	}
	measured := make([]map[string]measure, 2)
	for i, b := range []*broker{s.ours, s.theirs} {
		if b == nil {
			continue
		}
		m, err := lifecycle(b, o.many)
		if stopped := b.stop(); err == nil {
			err = stopped
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		measured[i] = m
	}
	return lifeRows(lifeNames(o.many), measured[0], measured[1]), nil
}
