package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.mortise, "mortise", "./mortise", "the mortise binary")
	flag.StringVar(&o.kafka, "kafka", "", "folder with Kafka's jars; empty: Mortise alone")
	flag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "mortise-bench"), "folder for data; emptied")
	flag.StringVar(&o.only, "only", "", "run only the rows whose names hold this text")
	flag.Float64Var(&o.scale, "scale", 1, "share of the full amount of data")
	flag.IntVar(&o.many, "many", 1000, "partitions of each of ten topics")
	flag.IntVar(&o.warmGiB, "warm", 4, "GiB of page cache to touch first, and for each broker through a quarter of it")
	flag.Parse()
	rows, err := o.run()
	fmt.Print(table(rows))
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	mortise, kafka, dir, only string
	scale                     float64
	many, warmGiB             int
}

// brokers are the two sides; theirs is nil when Mortise runs alone.
func (o options) brokers() (ours, theirs *broker) {
	ours = &broker{
		name: "mortise", addr: "127.0.0.1:29092", dir: filepath.Join(o.dir, "mortise"),
		argv: func(dir string) []string {
			return []string{o.mortise, "serve", "--data", dir, "--listen", "127.0.0.1:29092", "--admin-address", ""}
		},
	}
	if o.kafka == "" {
		return ours, nil
	}
	jars := filepath.Join(o.kafka, "*")
	theirs = &broker{
		name: "kafka", addr: "127.0.0.1:39092", dir: filepath.Join(o.dir, "kafka"),
		prep: func(dir string) error { return formatKafka(jars, dir) },
		argv: func(dir string) []string {
			return []string{"java", "-Xmx1g", "-Xms1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
				"-cp", jars, "kafka.Kafka", filepath.Join(dir, "server.properties")}
		},
	}
	return ours, theirs
}

// formatKafka writes a one-node configuration and formats its directory.
func formatKafka(jars, dir string) error {
	text := `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:39093
listeners=PLAINTEXT://127.0.0.1:39092,CONTROLLER://127.0.0.1:39093
advertised.listeners=PLAINTEXT://127.0.0.1:39092,CONTROLLER://127.0.0.1:39093
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
log.dirs=` + filepath.Join(dir, "data") + "\n"
	properties := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(properties, []byte(text), 0o644); err != nil {
		return err
	}
	out, err := exec.Command("java", "-cp", jars, "kafka.tools.StorageTool", "format",
		"-t", "AAAAAAAAQACAAAAAAAAAAA", "-c", properties).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format Kafka's directory: %w: %s", err, out)
	}
	return nil
}

// run runs every row on both sides in turn.
func (o options) run() ([]row, error) {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	warm, err := warmPageCache(o.dir, o.warmGiB)
	if err != nil {
		return nil, err
	}
	defer os.Remove(warm)
	ours, theirs := o.brokers()
	sides := []*broker{ours}
	if theirs != nil {
		sides = append(sides, theirs)
	}
	rows, err := o.loads(sides)
	if err != nil {
		return rows, err
	}
	more, err := o.lives(sides)
	return append(rows, more...), err
}

// loads runs the workloads, one after another on each side in turn.
func (o options) loads(sides []*broker) ([]row, error) {
	all := slices.DeleteFunc(scenarios(o.scale), func(s scenario) bool { return !strings.Contains(s.name, o.only) })
	if len(all) == 0 {
		return nil, nil
	}
	for _, b := range sides {
		if err := b.fresh(); err != nil {
			return nil, err
		}
		defer b.stop() //nolint:errcheck // a broker that is gone has shown it already
		if err := o.warm(b); err != nil {
			return nil, fmt.Errorf("%s: warm up: %w", b.name, err)
		}
	}
	var rows []row
	for _, s := range all {
		var results []result
		for _, b := range sides {
			r, err := s.run(b)
			if err != nil {
				return rows, fmt.Errorf("%s: %s: %w", b.name, s.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %s: %s, %d MiB anonymous\n", b.name, s.name, s.show(r), r.anonKiB/1024)
			results = append(results, r)
		}
		rows = append(rows, s.row(results))
	}
	return rows, nil
}

// warm makes the topic and takes a broker through enough for its compiler.
func (o options) warm(b *broker) error {
	if err := createTopics(b.addr, 12, "bench", "warm"); err != nil {
		return err
	}
	l := produceLoad{topic: "warm", partitions: 12, perRequest: 1, records: 63, recordBytes: 1024,
		connections: 2, inFlight: 5, totalBytes: int64(o.warmGiB) * gib / 4}
	if l.totalBytes == 0 {
		return nil
	}
	if _, err := l.run(b.addr); err != nil {
		return err
	}
	_, err := consumeLoad{topic: "warm", partitions: 12, readers: 1, partitionBytes: mib, rounds: 1}.run(b.addr)
	return err
}

// lives runs what restarts the brokers.
func (o options) lives(sides []*broker) ([]row, error) {
	if o.only != "" && !strings.Contains("lifecycle", o.only) {
		return nil, nil
	}
	var measures []map[string]measure
	for _, b := range sides {
		m, err := lifecycle(b, int32(o.many))
		if stopped := b.stop(); err == nil {
			err = stopped
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		measures = append(measures, m)
	}
	return lifeRows(measures, o.many), nil
}
