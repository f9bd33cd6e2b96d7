package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What is measured of clusters: three nodes on this machine, which share its cores, a
// replica of everything on each, two of which must have a record before acks=all is
// given. The first node leads all partitions, so that one connection reaches them.
const (
	clusterNodes   = 3
	replicatedName = "RF 3, "
	// replicatedReserve is for three JVMs.
	replicatedReserve = 6 * gib
)

// Ports of the nodes; each kind is in a row.
const (
	oursPorts, otherPorts            = 29100, 29160 // from here on, and 10, 20 and 30 further
	theirsClients, theirsControllers = 29140, 29150
)

// createTopic makes a topic with a replica on every node.
func (b *broker) createTopic(name string, configs map[string]string) error {
	var all []int32
	if b.followers != nil {
		for i := range b.nodes() {
			all = append(all, int32(i+1))
		}
		configs = maps.Clone(configs)
		if configs == nil {
			configs = map[string]string{}
		}
		configs["min.insync.replicas"] = "2"
	}
	return createTopicsWith(b.addr, partitions, all, configs, name)
}

// replicatedLoad is 64 KiB batches to all partitions over one connection.
func replicatedLoad(totalBytes int64) produceLoad {
	return produceLoad{partitions: partitions, perRequest: 1, records: 63, recordBytes: 1024, connections: 1, inFlight: 5,
		totalBytes: totalBytes, acksAll: true}
}

// replicatedScenarios are the workloads of a cluster.
func replicatedScenarios(scale float64) []scenario {
	sized := func(n int64) int64 { return max(32*mib, int64(float64(n)*scale)) }
	base := replicatedLoad(sized(gib))
	one, small, wide := base, base, base
	one.partitions = 1
	small.records, small.totalBytes = 15, sized(gib/2)
	wide.perRequest, wide.records, wide.totalBytes = partitions, 15, sized(gib/4)
	flushed := produce(replicatedName+"acks=all, flush.messages=1, 12 × 16 KiB a request", wide)
	flushed.configs = map[string]string{"flush.messages": "1"}
	return []scenario{
		produce(replicatedName+"acks=all, 64 KiB batches, 1 connection", base, faster(4), cheaper(0.25), quicker(0.2)),
		produce(replicatedName+"acks=all, 64 KiB batches, one partition", one, faster(4)),
		produce(replicatedName+"acks=all, 16 KiB batches, 1 connection", small, faster(4), cheaper(0.25)),
		flushed,
		replicatedEndToEnd(scale),
	}
}

// replicatedCostLoads are the workloads of a cluster whose requests are counted.
func replicatedCostLoads() []scenario {
	base := replicatedLoad(128 * mib)
	one, lone := base, base
	one.partitions = 1
	lone.partitions, lone.records, lone.recordBytes, lone.inFlight, lone.totalBytes = 1, 1, 100, 1, 5_000*171
	return []scenario{
		produce(replicatedName+"64 KiB, 5 in flight", base),
		produce(replicatedName+"64 KiB, 5 in flight, one partition", one),
		produce(replicatedName+"100 B, 1 in flight, one partition", lone),
	}
}

// replicatedEndToEnd measures from before the write to after the read behind all
// replicas.
func replicatedEndToEnd(scale float64) scenario {
	s := endToEnd(replicatedName+"end to end, 4 KiB batches, 1 MiB/s", 4<<10, mib, scale, quicker(0.4))
	s.run = func(addr, topic string) (result, error) {
		return endToEndLoad{topic: topic, partitions: partitions, batchBytes: 4 << 10, rateBytes: mib, acksAll: true,
			duration: time.Duration((2 + 10*scale) * float64(time.Second))}.run(addr)
	}
	return s
}

// runReplicated runs the workloads of clusters on both sides in turn.
func (o options) runReplicated() ([]row, error) {
	chosen := slices.DeleteFunc(replicatedScenarios(o.scale), func(s scenario) bool { return !strings.Contains(s.name, o.only) })
	if len(chosen) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	remove, err := o.touchMemory(replicatedReserve)
	defer remove()
	if err != nil {
		return nil, err
	}
	s := sides{ours: o.ourNodes(false), theirs: o.theirNodes()}
	for _, b := range s.all() {
		defer b.stop() //nolint:errcheck // a broker that is gone has shown it already
		if err := b.fresh(); err != nil {
			return nil, err
		}
		if err := o.warm(b); err != nil {
			return nil, fmt.Errorf("%s: warm up: %w", b.name, err)
		}
	}
	var rows []row
	for _, sc := range chosen {
		t, err := o.compare(sc, s)
		if err != nil {
			return rows, err
		}
		rows = append(rows, sc.row(t))
	}
	return rows, nil
}

// cluster puts nodes together: the first leads.
func cluster(nodes []*broker) *broker {
	nodes[0].followers = slices.Clip(nodes[1:])
	return nodes[0]
}

// ourNodes is a cluster of Mortise; admin: each node tells its metrics.
func (o options) ourNodes(admin bool) *broker {
	return o.mortiseNodes("mortise", o.mortise, oursPorts, admin)
}

// mortiseNodes is a cluster of a build of Mortise.
func (o options) mortiseNodes(name, binary string, ports int, admin bool) *broker {
	clients, peers, gossip := ports, ports+10, ports+20
	var nodes []*broker
	for i := range clusterNodes {
		n := &broker{name: fmt.Sprint(name, " ", i+1), addr: local(clients + i), dir: filepath.Join(o.dir, fmt.Sprint(name, "-", i+1))}
		if admin {
			n.admin = local(ports + 30 + i)
		}
		argv := []string{binary, "serve", "--node-id", fmt.Sprint(i + 1), "--listen", n.addr, "--admin-address", n.admin,
			"--cluster-listen", local(peers + i), "--gossip-listen", local(gossip + i)}
		if i > 0 {
			argv = append(argv, "--join", local(peers))
		}
		n.argv = func(dir string) []string { return append(slices.Clone(argv), "--data", dir) }
		nodes = append(nodes, n)
	}
	return cluster(nodes)
}

// local is a port of this machine.
func local(port int) string { return fmt.Sprint("127.0.0.1:", port) }

// theirNodes is a cluster of Kafka, each node broker and controller, or of another build
// of Mortise; nil: Mortise runs alone.
func (o options) theirNodes() *broker {
	switch {
	case o.against != "":
		return o.mortiseNodes("other", o.against, otherPorts, false)
	case o.kafka == "":
		return nil
	}
	jars := filepath.Join(o.kafka, "*")
	var nodes []*broker
	for i := range clusterNodes {
		nodes = append(nodes, &broker{name: fmt.Sprint("kafka ", i+1), addr: local(theirsClients + i), dir: filepath.Join(o.dir, fmt.Sprint("kafka-", i+1)),
			prep: func(dir string) error { return formatKafkaNode(jars, dir, i) },
			argv: func(dir string) []string { return kafkaCommand(jars, dir) }})
	}
	return cluster(nodes)
}

// formatKafkaNode writes the configuration of one of the nodes, counted from 0, and
// formats its directory.
func formatKafkaNode(jars, dir string, i int) error {
	var voters []string
	for n := range clusterNodes {
		voters = append(voters, fmt.Sprintf("%d@%s", n+1, local(theirsControllers+n)))
	}
	return formatKafkaDir(jars, dir, fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.quorum.voters=%s
listeners=PLAINTEXT://%[3]s,CONTROLLER://%[4]s
advertised.listeners=PLAINTEXT://%[3]s,CONTROLLER://%[4]s
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=3
log.dirs=%[5]s
`, i+1, strings.Join(voters, ","), local(theirsClients+i), local(theirsControllers+i), filepath.Join(dir, "data")))
}

// kafkaCommand starts a Kafka on a formatted directory.
func kafkaCommand(jars, dir string) []string {
	return []string{"java", "-Xmx1g", "-Xms1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-cp", jars, "kafka.Kafka", filepath.Join(dir, "server.properties")}
}

// formatKafkaDir writes a configuration and formats the directory that it names.
func formatKafkaDir(jars, dir, text string) error {
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
